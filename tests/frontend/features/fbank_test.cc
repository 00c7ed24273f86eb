#include "frontend/features/fbank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "frontend/features/dither.h"
#include "frontend/features/mfcc.h"

namespace runnel {
namespace {

std::vector<float> Noise(size_t count, unsigned seed, float level) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, level);
  std::vector<float> samples(count);
  for (float& sample : samples) sample = normal(random);
  return samples;
}

std::vector<float> Compute(const FrameExtractor& fbank, const std::vector<float>& window,
                           int64_t frame = 0) {
  EXPECT_EQ(window.size(), static_cast<size_t>(fbank.frame_length()));
  FrameScratch scratch;
  std::vector<float> features(static_cast<size_t>(fbank.dim()));
  fbank.ComputeFrame(window.data(), frame, &scratch, features.data());
  return features;
}

TEST(FbankTest, InvalidOptionsThrow) {
  FbankOptions options;
  options.num_mel_bins = 1;
  EXPECT_THROW(Fbank{options}, std::invalid_argument);
}

TEST(MfccTest, TheLevelIsThatOfTheFilterBank) {
  const std::vector<float> window = Noise(400, 5, 1000.0F);
  const Fbank fbank{FbankOptions()};
  for (const float lifter : {0.0F, 22.0F}) {
    MfccOptions options;
    static_cast<FbankOptions&>(options) = FbankOptions();
    options.cepstral_lifter = lifter;
    const Mfcc mfcc(options);
    EXPECT_NEAR(mfcc.Level(Compute(mfcc, window).data()),
                fbank.Level(Compute(fbank, window).data()), 1e-4);
    options.use_energy = true;
    const Mfcc with_energy(options);
    const std::vector<float> features = Compute(with_energy, window);
    EXPECT_EQ(with_energy.Level(features.data()), features[0]);
  }
}

TEST(FbankTest, FramesWithSnipEdges) {
  const Fbank fbank{FbankOptions()};
  EXPECT_EQ(fbank.FirstSampleOfFrame(0), 0);
  EXPECT_EQ(fbank.FirstSampleOfFrame(3), 480);
  for (const bool finished : {false, true}) {
    EXPECT_EQ(fbank.NumFrames(0, finished), 0);
    EXPECT_EQ(fbank.NumFrames(399, finished), 0);
    EXPECT_EQ(fbank.NumFrames(400, finished), 1);
    EXPECT_EQ(fbank.NumFrames(559, finished), 1);
    EXPECT_EQ(fbank.NumFrames(560, finished), 2);
  }
}

TEST(FbankTest, FramesWithoutSnipEdges) {
  FbankOptions options;
  options.snip_edges = false;
  const Fbank fbank(options);
  EXPECT_EQ(fbank.FirstSampleOfFrame(0), -120);
  EXPECT_EQ(fbank.FirstSampleOfFrame(1), 40);
  // At the end, the duration over the shift, rounded.
  EXPECT_EQ(fbank.NumFrames(0, true), 0);
  EXPECT_EQ(fbank.NumFrames(79, true), 0);
  EXPECT_EQ(fbank.NumFrames(80, true), 1);
  EXPECT_EQ(fbank.NumFrames(239, true), 1);
  EXPECT_EQ(fbank.NumFrames(240, true), 2);
  EXPECT_EQ(fbank.NumFrames(16000, true), 100);
  // Before it, as many as lie within the samples.
  EXPECT_EQ(fbank.NumFrames(0, false), 0);
  EXPECT_EQ(fbank.NumFrames(279, false), 0);
  EXPECT_EQ(fbank.NumFrames(280, false), 1);
  EXPECT_EQ(fbank.NumFrames(440, false), 2);
  EXPECT_EQ(fbank.NumFrames(16000, false), 99);
}

TEST(FbankTest, FrameIndicesExceed32Bits) {
  for (const bool snip_edges : {false, true}) {
    FbankOptions options;
    options.snip_edges = snip_edges;
    const Fbank fbank(options);
    const int64_t frame = int64_t{1} << 40;
    const int64_t end = fbank.FirstSampleOfFrame(frame) + fbank.frame_length();
    EXPECT_EQ(fbank.NumFrames(end, false), frame + 1);
    EXPECT_EQ(fbank.NumFrames(end - 1, false), frame);
  }
}

TEST(FbankTest, SilenceGivesTheFloor) {
  FbankOptions options;
  options.use_energy = true;
  const std::vector<float> silence(400, 0.0F);
  const float floor = std::log(std::numeric_limits<float>::epsilon());
  for (const float value : Compute(Fbank(options), silence)) EXPECT_EQ(value, floor);

  options.energy_floor = 2.0F;
  const std::vector<float> features = Compute(Fbank(options), silence);
  EXPECT_EQ(features[0], std::log(2.0F));
  EXPECT_EQ(features[1], floor);

  options.use_log_fbank = false;
  EXPECT_EQ(Compute(Fbank(options), silence)[1], 0.0F);
}

TEST(FbankTest, OffsetIsRemoved) {
  FbankOptions options;
  options.use_energy = true;
  const Fbank fbank(options);
  std::vector<float> samples = Noise(400, 1, 1000.0F);
  const std::vector<float> expected = Compute(fbank, samples);
  for (float& sample : samples) sample += 500.0F;
  const std::vector<float> actual = Compute(fbank, samples);
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], 1e-4F);
}

TEST(FbankTest, ToneFallsIntoItsFilter) {
  FbankOptions options;
  options.num_mel_bins = 40;
  const Fbank fbank(options);
  std::vector<float> samples(400);
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] =
        1000.0F * std::sin(2.0F * 3.14159265F * 2000.0F / 16000.0F * static_cast<float>(i));
  }
  const std::vector<float> features = Compute(fbank, samples);
  // Centres lie 68.54 mel apart from 31.75 mel (20 Hz) on; 2000 Hz is at 1521.4 mel.
  const auto loudest = std::max_element(features.begin(), features.end()) - features.begin();
  EXPECT_EQ(loudest, std::lround((1521.4 - 31.75) / 68.54) - 1);
}

TEST(FbankTest, OneScratchServesSeveralFbanks) {
  FbankOptions long_options;
  FbankOptions short_options;
  short_options.frame_length_ms = 17.0F;  // the same FFT size, a shorter window
  FbankOptions large_options;
  large_options.frame_length_ms = 50.0F;
  FrameScratch scratch;
  std::vector<float> features(23);
  for (const FbankOptions& options :
       {long_options, short_options, large_options, short_options, long_options}) {
    const Fbank fbank(options);
    const std::vector<float> samples = Noise(static_cast<size_t>(fbank.frame_length()), 2, 100.0F);
    fbank.ComputeFrame(samples.data(), 0, &scratch, features.data());
    EXPECT_EQ(features, Compute(fbank, samples));
    const FrameScratch copy = scratch;
    scratch = copy;
  }
}

TEST(FbankTest, ThreadsShareOne) {
  FbankOptions options;
  options.num_mel_bins = 80;
  const Fbank fbank(options);
  constexpr size_t kFrames = 200;
  const std::vector<float> samples = Noise(400 + kFrames, 3, 100.0F);
  std::vector<std::vector<float>> results(4, std::vector<float>(kFrames * 80));
  const auto compute = [&](std::vector<float>* result) {
    FrameScratch scratch;
    for (size_t i = 0; i < kFrames; ++i) {
      fbank.ComputeFrame(&samples[i], 0, &scratch, result->data() + i * 80);
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  for (std::vector<float>& result : results) threads.emplace_back(compute, &result);
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& result : results) EXPECT_EQ(result, results[0]);
}

TEST(FbankTest, DitherDependsOnSeedAndFrameOnly) {
  FbankOptions options;
  options.dither = 1.0F;
  options.dither_seed = 7;
  const std::vector<float> samples = Noise(400, 4, 10.0F);
  const Fbank fbank(options);
  const std::vector<float> first = Compute(fbank, samples, 0);
  EXPECT_NE(Compute(fbank, samples, 1), first);
  EXPECT_EQ(Compute(fbank, samples, 0), first);
  EXPECT_EQ(Compute(Fbank(options), samples, 0), first);
  options.dither_seed = 8;
  EXPECT_NE(Compute(Fbank(options), samples, 0), first);
  options.dither = 0.0F;
  EXPECT_NE(Compute(Fbank(options), samples, 0), first);
}

TEST(DitherTest, IsNormalAndIndependent) {
  constexpr size_t kCount = 401;
  constexpr int kFrames = 500;
  const std::vector<float> zeros(kCount, 0.0F);
  std::vector<float> noise(kCount);
  double sum = 0.0;
  double squares = 0.0;
  double neighbours = 0.0;
  double frames = 0.0;
  int beyond_two = 0;
  std::vector<float> last(kCount, 0.0F);
  for (int frame = 0; frame < kFrames; ++frame) {
    AddDither(zeros.data(), kCount, 3.0F, 1, frame, noise.data());
    for (size_t i = 0; i < kCount; ++i) {
      const double value = noise[i] / 3.0;
      sum += value;
      squares += value * value;
      if (i > 0) neighbours += value * noise[i - 1] / 3.0;
      frames += value * last[i] / 3.0;
      beyond_two += std::abs(value) > 2.0 ? 1 : 0;
    }
    last = noise;
  }
  // 200,000 values: means of unit variance deviate by 1 / 448; the bounds are 4.5 times that.
  const double count = static_cast<double>(kCount) * kFrames;
  EXPECT_NEAR(sum / count, 0.0, 0.01);
  EXPECT_NEAR(squares / count, 1.0, 0.015);
  EXPECT_NEAR(neighbours / count, 0.0, 0.01);
  EXPECT_NEAR(frames / count, 0.0, 0.01);
  EXPECT_NEAR(beyond_two / count, 0.0455, 0.002);
}

}  // namespace
}  // namespace runnel
