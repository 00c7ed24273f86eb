#include "tools/server/samples/sample_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/sample_range.h"
#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/cli/g711.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/samples/raw_sample_decoder.h"

namespace runnel::server {
namespace {

using testing::Float32;
using testing::Pcm16;

TEST(SampleDecoder, EveryEncodingHasOne) {
  for (const SampleEncoding encoding : kSampleEncodings) {
    EXPECT_EQ(MakeSampleDecoder(encoding)->encoding(), encoding) << NameOf(encoding);
  }
  EXPECT_THROW(RawSampleDecoder decoder(SampleEncoding::kOpus), std::invalid_argument);
}

TEST(SampleDecoder, ValuesOfPcm16) {
  RawSampleDecoder decoder(SampleEncoding::kPcm16);
  EXPECT_EQ(decoder.Decode(std::string_view("\x00\x00\x01\x00\xFF\xFF\x00\x80\xFF\x7F", 10)),
            (std::vector<float>{0, 1 / 32768.0F, -1 / 32768.0F, -1, 32767 / 32768.0F}));
}

TEST(SampleDecoder, ValuesOfFloat32) {
  RawSampleDecoder decoder(SampleEncoding::kFloat32);
  EXPECT_EQ(decoder.Decode(std::string_view("\x00\x00\x80\x3F\x00\x00\x00\xBF", 8)),
            (std::vector<float>{1.0F, -0.5F}));
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(decoder.Decode(Float32({tiny, kMaxAmplitude})),
            (std::vector<float>{tiny, kMaxAmplitude}));
}

// Bytes in an encoding, with the samples that they stand for.
struct Audio {
  SampleEncoding encoding;
  size_t sample_size;
  std::string bytes;
  std::vector<float> samples;
};

std::vector<Audio> AudioInEveryRawEncoding(size_t count, std::mt19937* random) {
  std::vector<int16_t> integers(count);
  std::vector<float> samples(count), mulaw(count), alaw(count);
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) {
    integers[i] = static_cast<int16_t>((*random)());
    samples[i] = static_cast<float>(integers[i]) / 32768.0F;
    const auto byte = static_cast<uint8_t>((*random)());
    bytes[i] = static_cast<char>(byte);
    mulaw[i] = kMulaw.Decode(byte);
    alaw[i] = kAlaw.Decode(byte);
  }
  return {{SampleEncoding::kPcm16, 2, Pcm16(integers), samples},
          {SampleEncoding::kFloat32, 4, Float32(samples), samples},
          {SampleEncoding::kMulaw, 1, bytes, mulaw},
          {SampleEncoding::kAlaw, 1, bytes, alaw}};
}

// The transport may cut the audio anywhere.
TEST(SampleDecoder, AnyCutGivesTheSameSamples) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    for (const Audio& audio : AudioInEveryRawEncoding(random() % 40, &random)) {
      const size_t left_over = random() % audio.sample_size;
      const std::string bytes = audio.bytes + std::string(left_over, 'x');
      const auto decoder = MakeSampleDecoder(audio.encoding);
      std::vector<float> samples;
      for (std::string_view rest = bytes; !rest.empty();) {
        const size_t size = std::min<size_t>(random() % 8, rest.size());
        const std::vector<float> decoded = decoder->Decode(rest.substr(0, size));
        samples.insert(samples.end(), decoded.begin(), decoded.end());
        rest.remove_prefix(size);
      }
      ASSERT_EQ(samples, audio.samples) << NameOf(audio.encoding) << " round " << round;
      ASSERT_EQ(decoder->num_waiting_bytes(), left_over) << NameOf(audio.encoding);
    }
  }
}

TEST(SampleDecoder, EveryCutInTwoGivesTheSameSamples) {
  std::mt19937 random(1);
  for (const Audio& audio : AudioInEveryRawEncoding(9, &random)) {
    for (size_t cut = 0; cut <= audio.bytes.size(); ++cut) {
      const auto decoder = MakeSampleDecoder(audio.encoding);
      std::vector<float> samples = decoder->Decode(audio.bytes.substr(0, cut));
      EXPECT_EQ(samples.size(), cut / audio.sample_size);
      EXPECT_EQ(decoder->num_waiting_bytes(), cut % audio.sample_size);
      const std::vector<float> rest = decoder->Decode(audio.bytes.substr(cut));
      samples.insert(samples.end(), rest.begin(), rest.end());
      EXPECT_EQ(samples, audio.samples) << NameOf(audio.encoding) << " cut at " << cut;
    }
  }
}

TEST(SampleDecoder, CountsSamplesOverMessages) {
  RawSampleDecoder decoder(SampleEncoding::kFloat32);
  const std::string good = Float32({0, 0, 0});
  const std::string bad = Float32({0, -101});
  decoder.Decode(good.substr(0, 7));
  decoder.Decode(good.substr(7));
  try {
    decoder.Decode(bad);
    FAIL() << "no error";
  } catch (const ClientMistake& mistake) {
    EXPECT_EQ(mistake.code(), ErrorCode::kBadMessage);
    EXPECT_STREQ(mistake.what(), "sample 4 is -101, expected samples in [-1, 1]");
  }
}

}  // namespace
}  // namespace runnel::server
