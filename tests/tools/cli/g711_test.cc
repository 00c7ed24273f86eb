#include "tools/cli/g711.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

struct Law {
  const char* name;
  const G711Law& law;
  int format;  // of libsndfile
};

const Law kLaws[] = {{"mulaw", kMulaw, SF_FORMAT_ULAW}, {"alaw", kAlaw, SF_FORMAT_ALAW}};

float Decode(const G711Law& law, int byte) { return law.Decode(static_cast<uint8_t>(byte)); }

TEST(G711, EveryByteIsDecodedAsByLibsndfile) {
  const testing::TemporaryFolder folder;
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  testing::WriteBytes(folder.File("raw"), bytes);
  for (const Law& law : kLaws) {
    SCOPED_TRACE(law.name);
    SF_INFO info = {};
    info.format = SF_FORMAT_RAW | law.format;
    info.channels = 1;
    info.samplerate = 8000;
    SNDFILE* const file = sf_open(folder.File("raw").c_str(), SFM_READ, &info);
    ASSERT_NE(file, nullptr) << sf_strerror(nullptr);
    std::vector<float> samples(256);
    EXPECT_EQ(sf_read_float(file, samples.data(), 256), 256);
    sf_close(file);
    for (int byte = 0; byte < 256; ++byte) {
      EXPECT_EQ(Decode(law.law, byte), samples[static_cast<size_t>(byte)]) << byte;
    }
  }
}

// Values from the tables of the Recommendation, scaled to 16 bits.
TEST(G711, EndsOfTheTables) {
  EXPECT_EQ(Decode(kMulaw, 0xFF), 0);
  EXPECT_EQ(Decode(kMulaw, 0x7F), 0);
  EXPECT_EQ(Decode(kMulaw, 0x80), 8031 * 4 / 32768.0F);
  EXPECT_EQ(Decode(kMulaw, 0x00), -8031 * 4 / 32768.0F);
  EXPECT_EQ(Decode(kAlaw, 0xD5), 1 * 8 / 32768.0F);
  EXPECT_EQ(Decode(kAlaw, 0x55), -1 * 8 / 32768.0F);
  EXPECT_EQ(Decode(kAlaw, 0xAA), 4032 * 8 / 32768.0F);
  EXPECT_EQ(Decode(kAlaw, 0x2A), -4032 * 8 / 32768.0F);
}

TEST(G711, DecodedSamplesAreEncodedAsTheyWere) {
  for (const Law& law : kLaws) {
    for (int byte = 0; byte < 256; ++byte) {
      const float sample = Decode(law.law, byte);
      const int encoded = law.law.Encode(sample);
      EXPECT_EQ(Decode(law.law, encoded), sample) << law.name << byte;
      if (sample == 0) continue;  // mu-law has two zeros
      EXPECT_EQ(encoded, byte) << law.name;
    }
  }
}

TEST(G711, TheNearestSampleIsChosen) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> exponent(-16, 0.5F);
  for (const Law& law : kLaws) {
    std::set<float> values;
    for (int byte = 0; byte < 256; ++byte) values.insert(Decode(law.law, byte));
    for (int round = 0; round < 20000; ++round) {
      const float sample = std::exp2(exponent(random)) * (random() % 2 == 0 ? 1.0F : -1.0F);
      float least = 10;
      for (const float value : values) least = std::min(least, std::abs(value - sample));
      ASSERT_EQ(std::abs(Decode(law.law, law.law.Encode(sample)) - sample), least)
          << law.name << " " << sample;
    }
  }
}

}  // namespace
}  // namespace runnel
