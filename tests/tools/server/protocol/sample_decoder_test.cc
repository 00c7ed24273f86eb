#include "tools/server/protocol/sample_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/server/protocol/protocol_conversation.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

using testing::Float32;
using testing::Pcm16;

TEST(SampleDecoder, ValuesOfPcm16) {
  SampleDecoder decoder(SampleEncoding::kPcm16);
  EXPECT_EQ(decoder.Decode(std::string_view("\x00\x00\x01\x00\xFF\xFF\x00\x80\xFF\x7F", 10)),
            (std::vector<float>{0, 1 / 32768.0F, -1 / 32768.0F, -1, 32767 / 32768.0F}));
}

TEST(SampleDecoder, ValuesOfFloat32) {
  SampleDecoder decoder(SampleEncoding::kFloat32);
  EXPECT_EQ(decoder.Decode(std::string_view("\x00\x00\x80\x3F\x00\x00\x00\xBF", 8)),
            (std::vector<float>{1.0F, -0.5F}));
  const float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(decoder.Decode(Float32({tiny, kMaxAmplitude})),
            (std::vector<float>{tiny, kMaxAmplitude}));
}

// The transport may cut the audio anywhere.
TEST(SampleDecoder, AnyCutGivesTheSameSamples) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const SampleEncoding encoding : {SampleEncoding::kPcm16, SampleEncoding::kFloat32}) {
    for (int round = 0; round < 200; ++round) {
      std::vector<float> expected(random() % 40);
      std::vector<int16_t> integers(expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        integers[i] = static_cast<int16_t>(random());
        expected[i] = static_cast<float>(integers[i]) / 32768.0F;
      }
      std::string bytes = encoding == SampleEncoding::kPcm16 ? Pcm16(integers) : Float32(expected);
      const size_t left_over = random() % (encoding == SampleEncoding::kPcm16 ? 2 : 4);
      bytes.append(left_over, 'x');

      SampleDecoder decoder(encoding);
      std::vector<float> samples;
      for (std::string_view rest = bytes; !rest.empty();) {
        const size_t size = std::min<size_t>(random() % 8, rest.size());
        const std::vector<float> decoded = decoder.Decode(rest.substr(0, size));
        samples.insert(samples.end(), decoded.begin(), decoded.end());
        rest.remove_prefix(size);
      }
      ASSERT_EQ(samples, expected) << "round " << round;
      ASSERT_EQ(decoder.num_waiting_bytes(), left_over) << "round " << round;
    }
  }
}

TEST(SampleDecoder, CountsSamplesOverMessages) {
  SampleDecoder decoder(SampleEncoding::kFloat32);
  const std::string good = Float32({0, 0, 0});
  const std::string bad = Float32({0, -17});
  decoder.Decode(good.substr(0, 7));
  decoder.Decode(good.substr(7));
  try {
    decoder.Decode(bad);
    FAIL() << "no error";
  } catch (const ClientMistake& mistake) {
    EXPECT_EQ(mistake.code(), ErrorCode::kBadMessage);
    EXPECT_STREQ(mistake.what(), "sample 4 is -17.000000, expected a number from -1 to 1");
  }
}

}  // namespace
}  // namespace runnel::server
