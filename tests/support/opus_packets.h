// Opus packets that tests make and decode by libopus itself. Link PkgConfig::opus.
#ifndef RUNNEL_TESTS_SUPPORT_OPUS_PACKETS_H_
#define RUNNEL_TESTS_SUPPORT_OPUS_PACKETS_H_

#include <gtest/gtest.h>
#include <opus.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace runnel::testing {

// A chirp from 200 to 600 Hz, mono.
inline std::vector<float> Chirp(size_t count, int rate_hz) {
  constexpr double kPi = 3.14159265358979323846;
  std::vector<float> samples(count);
  double phase = 0;
  for (size_t i = 0; i < count; ++i) {
    phase +=
        2 * kPi * (200 + 400.0 * static_cast<double>(i) / static_cast<double>(count)) / rate_hz;
    samples[i] = static_cast<float>(0.4 * std::sin(phase));
  }
  return samples;
}

// Encodes interleaved samples; those that fill no packet are left out.
inline std::vector<std::string> OpusPackets(const std::vector<float>& samples, int rate_hz,
                                            int channels, double packet_ms) {
  int error = OPUS_OK;
  OpusEncoder* const encoder =
      opus_encoder_create(rate_hz, channels, OPUS_APPLICATION_AUDIO, &error);
  EXPECT_EQ(error, OPUS_OK);
  const int frames = static_cast<int>(std::lround(packet_ms * rate_hz / 1000));
  const auto packet_values = static_cast<size_t>(frames * channels);
  std::vector<std::string> packets;
  std::array<unsigned char, 8000> bytes = {};
  for (size_t begin = 0; begin + packet_values <= samples.size(); begin += packet_values) {
    const int size = opus_encode_float(encoder, samples.data() + begin, frames, bytes.data(),
                                       static_cast<opus_int32>(bytes.size()));
    EXPECT_GT(size, 0) << opus_strerror(size);
    packets.emplace_back(bytes.data(), bytes.data() + size);
  }
  opus_encoder_destroy(encoder);
  return packets;
}

// Decodes packets to mono; an empty one is lost, and as long as `lost_samples`.
inline std::vector<float> DecodedByLibopus(const std::vector<std::string>& packets, int rate_hz,
                                           int lost_samples) {
  int error = OPUS_OK;
  OpusDecoder* const decoder = opus_decoder_create(rate_hz, 1, &error);
  EXPECT_EQ(error, OPUS_OK);
  std::vector<float> samples;
  std::array<opus_int16, 5760> block = {};
  for (const std::string& packet : packets) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(packet.data());
    const int count = packet.empty()
                          ? opus_decode(decoder, nullptr, 0, block.data(), lost_samples, 0)
                          : opus_decode(decoder, bytes, static_cast<opus_int32>(packet.size()),
                                        block.data(), static_cast<int>(block.size()), 0);
    EXPECT_GT(count, 0) << opus_strerror(count);
    for (int i = 0; i < count; ++i) {
      samples.push_back(static_cast<float>(block[static_cast<size_t>(i)]) / 32768);
    }
  }
  opus_decoder_destroy(decoder);
  return samples;
}

// The largest correlation of `heard` with `original` at any delay up to 10 ms; an encoder delays by
// 6.5 ms.
inline double BestCorrelation(const std::vector<float>& original, const std::vector<float>& heard,
                              int rate_hz) {
  double best = -1;
  const auto max_delay = static_cast<size_t>(rate_hz / 100);
  for (size_t delay = 0; delay <= max_delay; ++delay) {
    double product = 0, energy = 0, heard_energy = 0;
    for (size_t i = 0; i < original.size() && i + delay < heard.size(); ++i) {
      const double a = static_cast<double>(original[i]), b = static_cast<double>(heard[i + delay]);
      product += a * b;
      energy += a * a;
      heard_energy += b * b;
    }
    if (energy > 0 && heard_energy > 0) {
      best = std::max(best, product / std::sqrt(energy * heard_energy));
    }
  }
  return best;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_OPUS_PACKETS_H_
