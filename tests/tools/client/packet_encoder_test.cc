#include "tools/client/packet_encoder.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/opus_packets.h"

namespace runnel::client {
namespace {

using testing::BestCorrelation;
using testing::Chirp;
using testing::DecodedByLibopus;

AudioTrack TrackOf(const std::vector<float>& samples, int rate_hz) {
  AudioTrack track(rate_hz);
  track.Append(samples);
  track.SetComplete();
  return track;
}

// All packets of the track from sample `first` on, as a connection sends them.
std::vector<AudioPacket> PacketsFrom(int64_t first, PacketEncoder* encoder) {
  std::vector<AudioPacket> packets;
  for (int64_t sample = first; sample < encoder->num_samples();) {
    packets.push_back(encoder->Next(sample, encoder->num_samples()));
    EXPECT_GT(packets.back().num_samples, 0);
    sample += packets.back().num_samples;
  }
  return packets;
}

std::string Joined(const std::vector<AudioPacket>& packets) {
  std::string bytes;
  for (const AudioPacket& packet : packets) bytes += packet.bytes;
  return bytes;
}

std::vector<float> DecodedOpus(const std::vector<AudioPacket>& packets, int rate_hz) {
  std::vector<std::string> bytes;
  for (const AudioPacket& packet : packets) bytes.push_back(packet.bytes);
  return DecodedByLibopus(bytes, rate_hz, 0);
}

TEST(EncodeSamples, SixteenBitSamplesComeOutAsTheyWere) {
  std::vector<float> samples;
  std::string expected;
  for (int value = -32768; value <= 32767; ++value) {
    samples.push_back(static_cast<float>(value) / 32768.0F);
    expected.push_back(static_cast<char>(value & 0xFF));
    expected.push_back(static_cast<char>(value >> 8 & 0xFF));
  }
  EXPECT_EQ(EncodeSamples(samples.data(), 65536, SampleEncoding::kPcm16), expected);
}

TEST(EncodeSamples, LoudSamplesAreClipped) {
  const std::vector<float> samples = {1.0F, 7.0F, -7.0F};
  EXPECT_EQ(EncodeSamples(samples.data(), 3, SampleEncoding::kPcm16),
            std::string("\xFF\x7F\xFF\x7F\x00\x80", 6));
  EXPECT_EQ(EncodeSamples(samples.data(), 3, SampleEncoding::kMulaw),
            std::string("\x80\x80\x00", 3));
  EXPECT_EQ(EncodeSamples(samples.data(), 3, SampleEncoding::kAlaw), "\xAA\xAA\x2A");
}

TEST(EncodeSamples, Float32) {
  const std::vector<float> samples = {1.0F, -0.5F};
  EXPECT_EQ(EncodeSamples(samples.data(), 2, SampleEncoding::kFloat32),
            std::string("\x00\x00\x80\x3F\x00\x00\x00\xBF", 8));
}

TEST(PacketEncoder, RawPacketsOfAnySizeAreTheWhole) {
  const std::vector<float> samples = Chirp(5000, 16000);
  const AudioTrack track = TrackOf(samples, 16000);
  for (const SampleEncoding encoding : {SampleEncoding::kPcm16, SampleEncoding::kFloat32,
                                        SampleEncoding::kMulaw, SampleEncoding::kAlaw}) {
    const std::string whole = EncodeSamples(samples.data(), 5000, encoding);
    for (const double packet_ms : {0.01, 7.0, 100.0, 1000.0}) {
      const auto encoder = MakePacketEncoder(encoding, &track, packet_ms);
      EXPECT_EQ(encoder->num_samples(), 5000);
      const std::vector<AudioPacket> packets = PacketsFrom(0, encoder.get());
      EXPECT_EQ(Joined(packets), whole) << NameOf(encoding);
      EXPECT_LE(packets[0].num_samples, encoder->packet_samples());
    }
  }
}

TEST(PacketEncoder, RawPacketsBeginAndEndAnywhere) {
  AudioTrack track(8000);
  track.Append(Chirp(1000, 8000));
  const auto encoder = MakePacketEncoder(SampleEncoding::kMulaw, &track, 20);
  EXPECT_EQ(encoder->Next(990, 1000).num_samples, 10);
  EXPECT_EQ(encoder->Next(1000, 1000).num_samples, 0);
  track.Append(Chirp(1000, 8000));
  EXPECT_EQ(encoder->Next(1000, 2000).num_samples, 160);
  EXPECT_EQ(encoder->Next(1000, 1003).num_samples, 3);
}

TEST(PacketEncoder, OpusPacketsHoldTheTrack) {
  for (const int rate_hz : kOpusRatesHz) {
    for (const size_t count : {1U, 100U, 4000U, 12345U}) {
      SCOPED_TRACE(std::to_string(rate_hz) + " Hz, " + std::to_string(count) + " samples");
      const std::vector<float> samples = Chirp(count, rate_hz);
      const AudioTrack track = TrackOf(samples, rate_hz);
      const auto encoder = MakePacketEncoder(SampleEncoding::kOpus, &track, kOpusPacketMs);
      EXPECT_EQ(encoder->packet_samples(), rate_hz / 50);
      const std::vector<AudioPacket> packets = PacketsFrom(0, encoder.get());
      int64_t sent = 0;
      for (const AudioPacket& packet : packets) sent += packet.num_samples;
      EXPECT_EQ(sent, encoder->num_samples());
      // The delay of the encoder, 6.5 ms, follows the last sample.
      EXPECT_EQ(sent, static_cast<int64_t>(count) + rate_hz * 65 / 10000);
      const std::vector<float> decoded = DecodedOpus(packets, rate_hz);
      EXPECT_EQ(decoded.size(), packets.size() * static_cast<size_t>(rate_hz / 50));
      if (count < 4000) continue;
      EXPECT_GT(BestCorrelation(samples, decoded, rate_hz), 0.95);
    }
  }
}

// A connection that resumes a stream has a decoder and an encoder without a history.
TEST(PacketEncoder, OpusBeginsAtAnySample) {
  const std::vector<float> samples = Chirp(16000, 16000);
  const AudioTrack track = TrackOf(samples, 16000);
  for (const int64_t first : {1, 320, 5555, 15999, 16050}) {
    const auto encoder = MakePacketEncoder(SampleEncoding::kOpus, &track, kOpusPacketMs);
    const std::vector<AudioPacket> packets = PacketsFrom(first, encoder.get());
    ASSERT_FALSE(packets.empty());
    const std::vector<float> decoded = DecodedOpus(packets, 16000);
    if (first > 10000) continue;
    const std::vector<float> expected(samples.begin() + first, samples.end());
    EXPECT_GT(BestCorrelation(expected, decoded, 16000), 0.95) << first;
  }
  const auto encoder = MakePacketEncoder(SampleEncoding::kOpus, &track, kOpusPacketMs);
  EXPECT_EQ(encoder->Next(20000, encoder->num_samples()).num_samples, 0);
}

TEST(PacketEncoder, OpusWaitsForAWholePacketWhileTheTrackGrows) {
  AudioTrack track(16000);
  const std::vector<float> samples = Chirp(3200, 16000);
  const auto encoder = MakePacketEncoder(SampleEncoding::kOpus, &track, kOpusPacketMs);
  std::vector<AudioPacket> packets;
  int64_t sent = 0;
  for (size_t begin = 0; begin < samples.size(); begin += 100) {
    track.Append({samples.begin() + static_cast<ptrdiff_t>(begin),
                  samples.begin() + static_cast<ptrdiff_t>(begin + 100)});
    const AudioPacket packet = encoder->Next(sent, encoder->num_samples());
    const bool is_whole = track.num_samples() - sent >= 320;
    ASSERT_EQ(packet.num_samples, is_whole ? 320 : 0);
    if (is_whole) packets.push_back(packet);
    sent += packet.num_samples;
  }
  EXPECT_EQ(encoder->num_samples(), 3200);
  track.SetComplete();
  EXPECT_EQ(encoder->num_samples(), 3200 + 104);
  for (AudioPacket& packet : PacketsFrom(sent, encoder.get())) packets.push_back(packet);
  const AudioTrack whole = TrackOf(samples, 16000);
  EXPECT_EQ(Joined(packets),
            Joined(PacketsFrom(
                0, MakePacketEncoder(SampleEncoding::kOpus, &whole, kOpusPacketMs).get())));
}

}  // namespace
}  // namespace runnel::client
