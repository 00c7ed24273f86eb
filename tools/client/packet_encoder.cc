#include "tools/client/packet_encoder.h"

#include <opus.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tools/cli/g711.h"

namespace runnel::client {
namespace {

constexpr float kPcm16Scale = 32768.0F;

void AppendLittleEndian(uint32_t bits, int size, std::string* bytes) {
  for (int i = 0; i < size; ++i) bytes->push_back(static_cast<char>(bits >> (8 * i) & 0xFF));
}

void AppendSample(float sample, SampleEncoding encoding, std::string* bytes) {
  switch (encoding) {
    case SampleEncoding::kPcm16: {
      const float scaled = std::clamp(std::round(sample * kPcm16Scale), -32768.0F, 32767.0F);
      return AppendLittleEndian(static_cast<uint32_t>(static_cast<int32_t>(scaled)), 2, bytes);
    }
    case SampleEncoding::kFloat32: {
      uint32_t bits = 0;
      std::memcpy(&bits, &sample, sizeof(bits));
      return AppendLittleEndian(bits, 4, bytes);
    }
    case SampleEncoding::kMulaw:
      return bytes->push_back(static_cast<char>(kMulaw.Encode(sample)));
    case SampleEncoding::kAlaw:
      return bytes->push_back(static_cast<char>(kAlaw.Encode(sample)));
    case SampleEncoding::kOpus:
      break;
  }
  throw std::invalid_argument("a sample has no bytes of its own in Opus");
}

// Samples that need not be encoded together: a packet is as long as the track allows.
class RawPacketEncoder : public PacketEncoder {
 public:
  RawPacketEncoder(SampleEncoding encoding, const AudioTrack* track, int64_t packet_samples)
      : PacketEncoder(track, packet_samples), encoding_(encoding) {}

  AudioPacket Next(int64_t first, int64_t end) override {
    const AudioSlice slice = track().Slice(first, std::min(packet_samples(), end - first));
    return {EncodeSamples(slice.samples, slice.num_samples, encoding_), slice.num_samples};
  }

 private:
  const SampleEncoding encoding_;
};

class OpusPacketEncoder : public PacketEncoder {
 public:
  OpusPacketEncoder(const AudioTrack* track, int64_t packet_samples)
      : PacketEncoder(track, packet_samples) {
    int error = OPUS_OK;
    encoder_.reset(opus_encoder_create(track->sample_rate_hz(), /*channels=*/1,
                                       OPUS_APPLICATION_VOIP, &error));
    if (error != OPUS_OK) Fail(error);
    opus_encoder_ctl(encoder_.get(), OPUS_GET_LOOKAHEAD(&delay_samples_));
  }

  // A whole packet, or the last one, which is filled up with silence.
  AudioPacket Next(int64_t first, int64_t end) override {
    const bool is_last = track().is_complete() && end == num_samples();
    const int64_t count = std::min(packet_samples(), end - first);
    if (count <= 0 || (count < packet_samples() && !is_last)) return {};
    std::vector<float> samples;
    while (static_cast<int64_t>(samples.size()) < count) {
      const auto done = static_cast<int64_t>(samples.size());
      const AudioSlice slice = track().Slice(first + done, count - done);
      if (slice.num_samples == 0) break;
      samples.insert(samples.end(), slice.samples, slice.samples + slice.num_samples);
    }
    samples.resize(static_cast<size_t>(packet_samples()));
    std::array<unsigned char, kMaxPacketBytes> bytes;
    const opus_int32 size =
        opus_encode_float(encoder_.get(), samples.data(), static_cast<int>(samples.size()),
                          bytes.data(), static_cast<opus_int32>(bytes.size()));
    if (size < 0) Fail(size);
    return {std::string(bytes.data(), bytes.data() + size), count};
  }

 private:
  // libopus asks for this much.
  static constexpr size_t kMaxPacketBytes = 4000;

  struct Deleter {
    void operator()(OpusEncoder* encoder) const { opus_encoder_destroy(encoder); }
  };

  [[noreturn]] static void Fail(int error) {
    throw std::runtime_error(std::string("libopus cannot encode: ") + opus_strerror(error));
  }

  int64_t delay_samples() const override { return delay_samples_; }

  std::unique_ptr<OpusEncoder, Deleter> encoder_;
  opus_int32 delay_samples_ = 0;
};

}  // namespace

PacketEncoder::PacketEncoder(const AudioTrack* track, int64_t packet_samples)
    : track_(*track), packet_samples_(packet_samples) {}

int64_t PacketEncoder::num_samples() const {
  return track_.num_samples() + (track_.is_complete() ? delay_samples() : 0);
}

std::unique_ptr<PacketEncoder> MakePacketEncoder(SampleEncoding encoding, const AudioTrack* track,
                                                 double packet_ms) {
  const auto packet_samples =
      std::max<int64_t>(1, std::llround(packet_ms * track->sample_rate_hz() / 1000));
  if (encoding == SampleEncoding::kOpus) {
    return std::make_unique<OpusPacketEncoder>(track, packet_samples);
  }
  return std::make_unique<RawPacketEncoder>(encoding, track, packet_samples);
}

std::string EncodeSamples(const float* samples, int64_t count, SampleEncoding encoding) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(count) * sizeof(float));  // the most
  for (int64_t i = 0; i < count; ++i) AppendSample(samples[i], encoding, &bytes);
  return bytes;
}

}  // namespace runnel::client
