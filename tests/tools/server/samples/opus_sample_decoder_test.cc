#include "tools/server/samples/opus_sample_decoder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tests/support/opus_packets.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

using testing::BestCorrelation;
using testing::Chirp;
using testing::DecodedByLibopus;
using testing::OpusPackets;

std::vector<float> DecodeAll(const std::vector<std::string>& packets, int rate_hz) {
  OpusSampleDecoder decoder;
  decoder.SetSampleRate(rate_hz);
  std::vector<float> samples;
  for (const std::string& packet : packets) {
    const std::vector<float> decoded = decoder.Decode(packet);
    samples.insert(samples.end(), decoded.begin(), decoded.end());
    EXPECT_EQ(decoder.num_waiting_bytes(), 0U);
  }
  return samples;
}

// The code and the message of the mistake that `packet` is.
struct Mistake {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

Mistake MistakeOf(OpusSampleDecoder* decoder, const std::string& packet) {
  try {
    decoder->Decode(packet);
  } catch (const ClientMistake& mistake) {
    return {mistake.code(), mistake.what()};
  }
  return {};
}

TEST(OpusSampleDecoder, EveryRateAndDuration) {
  for (const int rate_hz : kOpusRatesHz) {
    for (const double packet_ms : {2.5, 5.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 120.0}) {
      SCOPED_TRACE(std::to_string(rate_hz) + " Hz, " + std::to_string(packet_ms) + " ms");
      const std::vector<float> original = Chirp(static_cast<size_t>(rate_hz / 2), rate_hz);
      const std::vector<std::string> packets = OpusPackets(original, rate_hz, 1, packet_ms);
      const std::vector<float> decoded = DecodeAll(packets, rate_hz);
      EXPECT_EQ(decoded, DecodedByLibopus(packets, rate_hz, 0));
      EXPECT_EQ(decoded.size(), packets.size() * static_cast<size_t>(packet_ms * rate_hz / 1000));
      EXPECT_GT(BestCorrelation(original, decoded, rate_hz), 0.95);
    }
  }
}

// The rate of the decoder is the stream's, whatever the sender's is.
TEST(OpusSampleDecoder, PacketsOfAnotherRate) {
  for (const int encoder_hz : kOpusRatesHz) {
    const std::vector<std::string> packets =
        OpusPackets(Chirp(static_cast<size_t>(encoder_hz / 2), encoder_hz), encoder_hz, 1, 20);
    for (const int rate_hz : kOpusRatesHz) {
      const std::vector<float> decoded = DecodeAll(packets, rate_hz);
      const auto length = static_cast<size_t>(rate_hz / 2);
      EXPECT_EQ(decoded.size(), length);
      EXPECT_GT(BestCorrelation(Chirp(length, rate_hz), decoded, rate_hz), 0.95);
    }
  }
}

TEST(OpusSampleDecoder, StereoIsDecodedToTheMeanOfItsChannels) {
  const std::vector<float> chirp = Chirp(48000, 48000);
  std::vector<float> stereo;
  for (const float sample : chirp) {
    stereo.push_back(1.2F * sample);
    stereo.push_back(0.4F * sample);
  }
  for (const double packet_ms : {20.0, 120.0}) {
    const std::vector<std::string> packets = OpusPackets(stereo, 48000, 2, packet_ms);
    EXPECT_EQ(
        opus_packet_get_nb_channels(reinterpret_cast<const unsigned char*>(packets.back().data())),
        2);
    const std::vector<float> decoded = DecodeAll(packets, 16000);
    EXPECT_EQ(decoded.size(), 16000U * packets.size() * static_cast<size_t>(packet_ms) / 1000);
    EXPECT_GT(BestCorrelation(Chirp(16000, 16000), decoded, 16000), 0.95);
    double energy = 0;
    for (const float sample : decoded) energy += static_cast<double>(sample * sample);
    EXPECT_NEAR(energy / static_cast<double>(decoded.size()), 0.4 * 0.4 * 0.8 * 0.8 / 2, 0.01);
  }
}

TEST(OpusSampleDecoder, LostPacketsAreAsLongAsTheOneBefore) {
  for (const int packet_ms : {10, 20, 60, 120}) {
    const int packet_samples = 16 * packet_ms;
    const std::vector<float> original = Chirp(32000, 16000);
    std::vector<std::string> packets = OpusPackets(original, 16000, 1, packet_ms);
    const size_t whole = DecodeAll(packets, 16000).size();
    packets[3].clear();
    packets[4].clear();
    packets.back().clear();
    const std::vector<float> decoded = DecodeAll(packets, 16000);
    EXPECT_EQ(decoded.size(), whole);
    EXPECT_EQ(decoded, DecodedByLibopus(packets, 16000, packet_samples));
    // What was lost is not filled with silence.
    double energy = 0;
    for (int i = 3 * packet_samples; i < 3 * packet_samples + 160; ++i) {
      energy += std::abs(static_cast<double>(decoded[static_cast<size_t>(i)]));
    }
    EXPECT_GT(energy / 160, 0.05) << packet_ms;
  }
}

TEST(OpusSampleDecoder, LossBeforeTheFirstPacketIsSilence) {
  for (const int rate_hz : kOpusRatesHz) {
    const auto length = static_cast<size_t>(rate_hz / 50);
    EXPECT_EQ(DecodeAll({"", "", ""}, rate_hz), std::vector<float>(3 * length));
  }
}

TEST(OpusSampleDecoder, DamagedPackets) {
  // RFC 6716, section 3.4: what a packet must not be.
  const std::vector<std::string> damaged = {
      std::string("\x79", 1) + std::string(3, 'x'),  // two equal frames of an odd number of bytes
      std::string("\x7A\xFF\xFF", 3),                // the first frame is longer than the packet
      std::string("\x7B", 1),                        // no number of frames
      std::string("\x7B\x00", 2),                    // no frames
      std::string("\x1B\x03", 2) + std::string(6, 'x'),  // 3 frames of 60 ms
      std::string("\x78", 1) + std::string(1276, 'x'),   // a frame of more than 1275 bytes
  };
  const std::vector<std::string> good = OpusPackets(Chirp(1600, 16000), 16000, 1, 20);
  for (const std::string& packet : damaged) {
    OpusSampleDecoder decoder;
    decoder.SetSampleRate(16000);
    decoder.Decode(good[0]);
    decoder.Decode("");
    const Mistake mistake = MistakeOf(&decoder, packet);
    EXPECT_EQ(mistake.code, ErrorCode::kBadMessage) << mistake.message;
    EXPECT_EQ(mistake.message, "message 2 of the audio is not an Opus packet (corrupted stream)");
  }
}

// Most bytes are some packet: they must only give bounded samples, or the mistake.
TEST(OpusSampleDecoder, AnyBytes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<std::string> good = OpusPackets(Chirp(48000, 48000), 48000, 1, 20);
  for (int round = 0; round < 300; ++round) {
    const int rate_hz = kOpusRatesHz[random() % kOpusRatesHz.size()];
    OpusSampleDecoder decoder;
    decoder.SetSampleRate(rate_hz);
    for (int i = 0; i < 20; ++i) {
      std::string packet = good[random() % good.size()];
      if (random() % 2 == 0) packet.resize(random() % 1500);
      for (size_t changes = random() % 20; changes > 0 && !packet.empty(); --changes) {
        packet[random() % packet.size()] = static_cast<char>(random());
      }
      try {
        const std::vector<float> samples = decoder.Decode(packet);
        ASSERT_LE(samples.size(), static_cast<size_t>(rate_hz * 120 / 1000));
        for (const float sample : samples) ASSERT_LE(std::abs(sample), 1.0F);
      } catch (const ClientMistake& mistake) {
        ASSERT_EQ(mistake.code(), ErrorCode::kBadMessage);
      }
    }
  }
}

TEST(OpusSampleDecoder, TheRateMustBeKnownAndOneOfOpus) {
  const std::string packet = OpusPackets(Chirp(320, 16000), 16000, 1, 20)[0];
  OpusSampleDecoder decoder;
  EXPECT_EQ(MistakeOf(&decoder, packet).code, ErrorCode::kUnsupportedOrder);
  EXPECT_EQ(MistakeOf(&decoder, "").code, ErrorCode::kUnsupportedOrder);
  for (const int rate_hz : {1000, 11025, 22050, 44100, 96000}) {
    decoder.SetSampleRate(rate_hz);
    const Mistake mistake = MistakeOf(&decoder, packet);
    EXPECT_EQ(mistake.code, ErrorCode::kBadOption);
    EXPECT_EQ(mistake.message,
              "the stream's sample rate is " + std::to_string(rate_hz) +
                  ", expected 8000, 12000, 16000, 24000 or 48000 with the encoding opus");
  }
}

TEST(SampleEncoding, RatesOfOpus) {
  EXPECT_EQ(OpusRateFor(1000), 8000);
  EXPECT_EQ(OpusRateFor(8000), 8000);
  EXPECT_EQ(OpusRateFor(11025), 12000);
  EXPECT_EQ(OpusRateFor(16000), 16000);
  EXPECT_EQ(OpusRateFor(22050), 24000);
  EXPECT_EQ(OpusRateFor(44100), 48000);
  EXPECT_EQ(OpusRateFor(96000), 48000);
  EXPECT_FALSE(IsOpusRate(0));
  EXPECT_FALSE(IsOpusRate(44100));
  for (const int rate_hz : kOpusRatesHz) EXPECT_TRUE(IsOpusRate(rate_hz));
}

}  // namespace
}  // namespace runnel::server
