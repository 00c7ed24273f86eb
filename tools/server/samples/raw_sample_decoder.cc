#include "tools/server/samples/raw_sample_decoder.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "frontend/sample_range.h"
#include "tools/cli/g711.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/samples/little_endian.h"

namespace runnel::server {
namespace {

float DecodePcm16(const char* bytes) {
  return static_cast<float>(FromLittleEndian<int16_t, uint16_t>(bytes)) / 32768;
}

float DecodeFloat32(const char* bytes) { return FromLittleEndian<float, uint32_t>(bytes); }

float DecodeMulaw(const char* bytes) { return kMulaw.Decode(static_cast<uint8_t>(*bytes)); }

float DecodeAlaw(const char* bytes) { return kAlaw.Decode(static_cast<uint8_t>(*bytes)); }

template <float (*kDecode)(const char*), size_t kSampleSize>
void DecodeAll(const char* bytes, size_t count, float* samples) {
  for (size_t i = 0; i < count; ++i) samples[i] = kDecode(bytes + i * kSampleSize);
}

}  // namespace

RawSampleDecoder::RawSampleDecoder(SampleEncoding encoding)
    : SampleDecoder(encoding), format_(FormatOf(encoding)) {}

RawSampleDecoder::Format RawSampleDecoder::FormatOf(SampleEncoding encoding) {
  switch (encoding) {
    case SampleEncoding::kPcm16:
      return {2, DecodeAll<DecodePcm16, 2>};
    case SampleEncoding::kFloat32:
      return {4, DecodeAll<DecodeFloat32, 4>};
    case SampleEncoding::kMulaw:
      return {1, DecodeAll<DecodeMulaw, 1>};
    case SampleEncoding::kAlaw:
      return {1, DecodeAll<DecodeAlaw, 1>};
    case SampleEncoding::kOpus:
      break;
  }
  throw std::invalid_argument(std::string("encoding is ") + NameOf(encoding) +
                              ", expected one with a fixed number of bytes per sample");
}

void RawSampleDecoder::Append(const char* bytes, size_t count, std::vector<float>* samples) {
  const size_t old_size = samples->size();
  samples->resize(old_size + count);
  float* const decoded = samples->data() + old_size;
  format_.decode(bytes, count, decoded);
  const size_t bad = FindBadSample(decoded, count);
  if (bad < count) {
    throw ClientMistake(ErrorCode::kBadMessage,
                        BadSampleMessage(num_samples_ + static_cast<int64_t>(bad), decoded[bad]));
  }
  num_samples_ += static_cast<int64_t>(count);
}

std::vector<float> RawSampleDecoder::DecodeMessage(std::string_view message) {
  const size_t sample_size = format_.sample_size;
  std::vector<float> samples;
  samples.reserve((num_waiting_ + message.size()) / sample_size);
  if (num_waiting_ > 0) {
    const size_t taken = std::min(sample_size - num_waiting_, message.size());
    std::copy_n(message.begin(), taken, waiting_.begin() + static_cast<ptrdiff_t>(num_waiting_));
    num_waiting_ += taken;
    message.remove_prefix(taken);
    if (num_waiting_ < sample_size) return samples;
    num_waiting_ = 0;
    Append(waiting_.data(), 1, &samples);
  }
  const size_t count = message.size() / sample_size;
  Append(message.data(), count, &samples);
  message.remove_prefix(count * sample_size);
  std::copy(message.begin(), message.end(), waiting_.begin());
  num_waiting_ = message.size();
  return samples;
}

}  // namespace runnel::server
