#include "frontend/resampler.h"

#include <gtest/gtest.h>
#include <soxr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/tolerances.h"

namespace runnel {
namespace {

constexpr double kPi = 3.14159265358979323846;

std::vector<float> Tone(size_t count, double hz, double rate_hz) {
  std::vector<float> samples(count);
  for (size_t i = 0; i < count; ++i) {
    samples[i] =
        static_cast<float>(0.5 * std::sin(2.0 * kPi * hz * static_cast<double>(i) / rate_hz));
  }
  return samples;
}

std::vector<float> Noise(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-0.5F, 0.5F);
  std::vector<float> samples(count);
  for (float& sample : samples) sample = uniform(random);
  return samples;
}

std::vector<float> AllAtOnce(int in_rate_hz, int out_rate_hz, const std::vector<float>& samples) {
  Resampler resampler(in_rate_hz, out_rate_hz);
  std::vector<float> output;
  resampler.Process(samples.data(), samples.size(), &output);
  resampler.Flush(&output);
  return output;
}

// One converter of libsoxr from start to end.
std::vector<float> InOnePiece(int in_rate_hz, int out_rate_hz, const std::vector<float>& samples) {
  const soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
  const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
  const soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
  const std::unique_ptr<soxr, decltype(&soxr_delete)> converter(
      soxr_create(in_rate_hz, out_rate_hz, 1, nullptr, &io, &quality, &runtime), &soxr_delete);
  const double ratio = static_cast<double>(out_rate_hz) / in_rate_hz;
  std::vector<float> output(static_cast<size_t>(static_cast<double>(samples.size()) * ratio) +
                            1000);
  size_t size = 0;
  size_t used = 0;
  EXPECT_EQ(soxr_process(converter.get(), samples.data(), samples.size(), &used, output.data(),
                         output.size(), &size),
            nullptr);
  EXPECT_EQ(used, samples.size());
  for (size_t done = 1; done > 0; size += done) {
    soxr_process(converter.get(), nullptr, 0, nullptr, output.data() + size, output.size() - size,
                 &done);
  }
  output.resize(size);
  return output;
}

struct Rates {
  int in_hz;
  int out_hz;
};

const std::vector<Rates> kRates = {{8000, 16000},  {11025, 16000}, {22050, 16000}, {24000, 16000},
                                   {44100, 16000}, {48000, 16000}, {96000, 16000}, {12345, 16000},
                                   {16000, 8000},  {44100, 8000},  {16000, 44100}, {44101, 16000}};

TEST(ResamplerTest, LengthIsRounded) {
  for (const Rates& rates : kRates) {
    for (const size_t count : {0, 1, 2, 3, 7, 100, 1001, 40000}) {
      const size_t size = AllAtOnce(rates.in_hz, rates.out_hz, Noise(count, 1)).size();
      const double expected = static_cast<double>(count) * rates.out_hz / rates.in_hz;
      EXPECT_NEAR(static_cast<double>(size), expected, 0.5 + 1e-9)
          << rates.in_hz << " -> " << rates.out_hz << ", " << count;
    }
  }
}

TEST(ResamplerTest, AnyPacketSplitGivesTheSameBits) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  for (const Rates& rates : kRates) {
    const size_t second = static_cast<size_t>(rates.in_hz);
    const std::vector<float> samples = Noise(second + random() % second, random());
    const std::vector<float> expected = AllAtOnce(rates.in_hz, rates.out_hz, samples);
    for (const size_t max_packet : {3, 50, 5000}) {
      Resampler resampler(rates.in_hz, rates.out_hz);
      std::vector<float> output;
      for (size_t i = 0; i < samples.size();) {
        const size_t count = std::min<size_t>(1 + random() % max_packet, samples.size() - i);
        resampler.Process(samples.data() + i, count, &output);
        i += count;
      }
      resampler.Flush(&output);
      ASSERT_EQ(output, expected) << "seed " << seed << ": " << rates.in_hz << " -> "
                                  << rates.out_hz << ", packets to " << max_packet;
    }
  }
}

// Blocks leave no trace: 12 seams and more, those of each rate elsewhere.
TEST(ResamplerTest, BlocksAreOneConversion) {
  for (const Rates& rates : kRates) {
    const std::vector<float> samples = Noise(static_cast<size_t>(rates.in_hz) * 7 + 123, 5);
    const std::vector<float> expected = InOnePiece(rates.in_hz, rates.out_hz, samples);
    const std::vector<float> output = AllAtOnce(rates.in_hz, rates.out_hz, samples);
    ASSERT_EQ(output.size(), expected.size()) << rates.in_hz << " -> " << rates.out_hz;
    for (size_t i = 0; i < output.size(); ++i) {
      ASSERT_NEAR(output[i], expected[i], testing::kResamplerTolerance)
          << rates.in_hz << " -> " << rates.out_hz << " " << i;
    }
  }
}

TEST(ResamplerTest, ACopyContinuesWithTheSameBits) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  for (const Rates& rates : kRates) {
    const std::vector<float> samples = Noise(static_cast<size_t>(rates.in_hz) * 3, random());
    const std::vector<float> others = Noise(samples.size(), random());
    const std::vector<float> expected = AllAtOnce(rates.in_hz, rates.out_hz, samples);
    Resampler resampler(rates.in_hz, rates.out_hz);
    std::vector<float> output;
    for (size_t i = 0; i < samples.size();) {
      const size_t count = std::min<size_t>(1 + random() % 20000, samples.size() - i);
      resampler.Process(samples.data() + i, count, &output);
      i += count;
      Resampler copy = resampler;
      std::vector<float> elsewhere;
      resampler.Process(others.data(), count, &elsewhere);
      resampler = copy;
      EXPECT_EQ(resampler.num_in(), static_cast<int64_t>(i));
      EXPECT_EQ(resampler.num_out(), static_cast<int64_t>(output.size()));
    }
    const Resampler flushed = [&] {
      resampler.Flush(&output);
      return resampler;
    }();
    ASSERT_EQ(output, expected) << "seed " << seed << ": " << rates.in_hz << " -> " << rates.out_hz;
    EXPECT_EQ(flushed.num_out(), static_cast<int64_t>(expected.size()));
  }
}

TEST(ResamplerTest, NoSampleComesBeforeItsTime) {
  for (const Rates& rates : kRates) {
    Resampler resampler(rates.in_hz, rates.out_hz);
    const std::vector<float> samples = Noise(static_cast<size_t>(rates.in_hz), 6);
    std::vector<float> output;
    EXPECT_EQ(resampler.MinInputFor(0), 0);
    EXPECT_EQ(resampler.MinInputFor(1), 1);
    for (const float sample : samples) {
      resampler.Process(&sample, 1, &output);
      ASSERT_LE(resampler.MinInputFor(resampler.num_out()), resampler.num_in());
    }
    // A second of output needs about a second of input.
    EXPECT_LE(resampler.MinInputFor(rates.out_hz), rates.in_hz);
    EXPECT_GE(resampler.MinInputFor(rates.out_hz) + rates.in_hz / rates.out_hz, rates.in_hz - 1);
  }
}

TEST(ResamplerTest, ToneKeepsLevelAndTime) {
  for (const Rates& rates : kRates) {
    // Well inside both pass bands. The filter rings at the ends; the middle must match.
    const double hz = 0.2 * std::min(rates.in_hz, rates.out_hz);
    const std::vector<float> output =
        AllAtOnce(rates.in_hz, rates.out_hz, Tone(20000, hz, rates.in_hz));
    const std::vector<float> expected = Tone(output.size(), hz, rates.out_hz);
    for (size_t i = output.size() / 4; i < output.size() * 3 / 4; ++i) {
      ASSERT_NEAR(output[i], expected[i], 1e-4F)
          << rates.in_hz << " -> " << rates.out_hz << " " << i;
    }
  }
}

TEST(ResamplerTest, TonesBeyondTheNewNyquistFrequencyVanish) {
  const std::vector<float> output = AllAtOnce(44100, 16000, Tone(44100, 9500, 44100));
  for (size_t i = output.size() / 4; i < output.size() * 3 / 4; ++i) {
    ASSERT_NEAR(output[i], 0.0F, 1e-5F);
  }
}

TEST(ResamplerTest, EqualRatesPassUnchanged) {
  const std::vector<float> samples = Noise(1000, 2);
  Resampler resampler(16000, 16000);
  std::vector<float> output = {7.0F};  // what is there already stays
  resampler.Process(samples.data(), samples.size(), &output);
  ASSERT_EQ(output.size(), 1001U);
  EXPECT_EQ(output[0], 7.0F);
  EXPECT_TRUE(std::equal(samples.begin(), samples.end(), output.begin() + 1));
  resampler.Flush(&output);
  EXPECT_EQ(output.size(), 1001U);
}

TEST(ResamplerTest, OutputIsAppendedAsItBecomesReady) {
  Resampler resampler(48000, 16000);
  const std::vector<float> samples = Noise(48000, 3);
  std::vector<float> output = {7.0F};
  resampler.Process(samples.data(), samples.size(), &output);
  // All but what the filter still looks ahead for: less than 50 ms.
  EXPECT_GT(output.size(), 16000U - 800U);
  EXPECT_EQ(output[0], 7.0F);
  resampler.Flush(&output);
  EXPECT_EQ(output.size(), 16001U);
  resampler.Flush(&output);
  EXPECT_EQ(output.size(), 16001U);
}

TEST(ResamplerTest, MovesMidway) {
  const std::vector<float> samples = Noise(10000, 4);
  const std::vector<float> expected = AllAtOnce(8000, 16000, samples);
  Resampler first(8000, 16000);
  std::vector<float> output;
  first.Process(samples.data(), 5000, &output);
  Resampler second = std::move(first);
  second.Process(samples.data() + 5000, 5000, &output);
  second.Flush(&output);
  EXPECT_EQ(output, expected);
}

TEST(ResamplerTest, MisuseThrows) {
  EXPECT_THROW(Resampler(0, 16000), std::invalid_argument);
  EXPECT_THROW(Resampler(16000, -1), std::invalid_argument);
  for (const int in_hz : {8000, 16000}) {
    Resampler resampler(in_hz, 16000);
    std::vector<float> output;
    resampler.Flush(&output);
    const float sample = 0.0F;
    EXPECT_THROW(resampler.Process(&sample, 1, &output), std::invalid_argument);
  }
}

}  // namespace
}  // namespace runnel
