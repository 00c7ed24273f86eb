#include "tools/server/protocol/sample_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

// Works on little-endian and big-endian machines.
template <typename Unsigned>
Unsigned FromLittleEndian(const char* bytes) {
  Unsigned value = 0;
  for (size_t i = 0; i < sizeof(Unsigned); ++i) {
    const auto byte = static_cast<Unsigned>(static_cast<unsigned char>(bytes[i]));
    value = static_cast<Unsigned>(value | static_cast<Unsigned>(byte << (8 * i)));
  }
  return value;
}

template <typename Number, typename Unsigned>
Number SameBits(Unsigned bits) {
  static_assert(sizeof(Number) == sizeof(Unsigned));
  Number number;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

}  // namespace

SampleDecoder::SampleDecoder(SampleEncoding encoding) : encoding_(encoding) {}

void SampleDecoder::Append(const char* bytes, size_t count, std::vector<float>* samples) {
  const size_t before = samples->size();
  samples->resize(before + count);
  float* to = samples->data() + before;
  if (encoding_ == SampleEncoding::kPcm16) {
    for (size_t i = 0; i < count; ++i) {
      to[i] =
          static_cast<float>(SameBits<int16_t>(FromLittleEndian<uint16_t>(bytes + 2 * i))) / 32768;
    }
  } else {
    for (size_t i = 0; i < count; ++i) {
      to[i] = SameBits<float>(FromLittleEndian<uint32_t>(bytes + 4 * i));
      if (!(std::abs(to[i]) <= kMaxAmplitude)) {
        throw ClientMistake(ErrorCode::kBadMessage,
                            "sample " + std::to_string(num_samples_ + static_cast<int64_t>(i)) +
                                " is " + std::to_string(to[i]) +
                                ", expected a number from -1 to 1");
      }
    }
  }
  num_samples_ += static_cast<int64_t>(count);
}

std::vector<float> SampleDecoder::Decode(std::string_view bytes) {
  std::vector<float> samples;
  samples.reserve((num_waiting_ + bytes.size()) / sample_size());
  if (num_waiting_ > 0) {
    const size_t taken = std::min(sample_size() - num_waiting_, bytes.size());
    std::copy_n(bytes.begin(), taken, waiting_.begin() + static_cast<ptrdiff_t>(num_waiting_));
    num_waiting_ += taken;
    bytes.remove_prefix(taken);
    if (num_waiting_ < sample_size()) return samples;
    num_waiting_ = 0;
    Append(waiting_.data(), 1, &samples);
  }
  const size_t count = bytes.size() / sample_size();
  Append(bytes.data(), count, &samples);
  bytes.remove_prefix(count * sample_size());
  std::copy(bytes.begin(), bytes.end(), waiting_.begin());
  num_waiting_ = bytes.size();
  return samples;
}

}  // namespace runnel::server
