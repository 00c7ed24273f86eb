// Features are computed without allocating: every allocation of the process is counted, KISS FFT's
// too, over-aligned ones aside. Not under a sanitizer, which has an allocator of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "frontend/feature_stream.h"
#include "frontend/features/fbank.h"
#include "frontend/features/frame_extractor.h"
#include "frontend/features/mel_spectrogram.h"

namespace {

std::atomic<int64_t> num_allocations{0};

}  // namespace

// Takes glibc's place for all libraries of the process; operator new comes here as well.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): glibc's names of its own functions.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
// NOLINTEND(bugprone-reserved-identifier)

void* malloc(size_t size) {
  ++num_allocations;
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  ++num_allocations;
  return __libc_calloc(count, size);
}

void* realloc(void* block, size_t size) {
  ++num_allocations;
  return __libc_realloc(block, size);
}
}

namespace runnel {
namespace {

constexpr int64_t kNumFrames = 1000;

std::vector<float> Noise(size_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-0.5F, 0.5F);
  std::vector<float> samples(count);
  for (float& sample : samples) sample = uniform(random);
  return samples;
}

// Of 1000 frames, after one that makes room in the scratch.
int64_t AllocationsOfFrames(const FrameExtractor& extractor) {
  const std::vector<float> samples = Noise(static_cast<size_t>(extractor.frame_length()));
  std::vector<float> features(static_cast<size_t>(extractor.dim()));
  FrameScratch scratch;
  extractor.ComputeFrame(samples.data(), 0, &scratch, features.data());
  const int64_t before = num_allocations;
  for (int64_t frame = 1; frame <= kNumFrames; ++frame) {
    extractor.ComputeFrame(samples.data(), frame, &scratch, features.data());
  }
  return num_allocations - before;
}

// Of 1000 frames of a stream, packet by packet, after as many that make room in its buffers.
int64_t AllocationsOfStream(const std::shared_ptr<const FrameExtractor>& extractor) {
  const auto shift = static_cast<size_t>(extractor->frame_shift());
  const std::vector<float> packet = Noise(10 * shift);
  std::vector<float> features(20 * static_cast<size_t>(extractor->dim()));
  FeatureStream stream(extractor);
  int64_t before = 0;
  while (stream.frames_popped() < 2 * kNumFrames) {
    if (stream.frames_popped() < kNumFrames) before = num_allocations;
    stream.AcceptSamples(packet.data(), packet.size());
    stream.PopFrames(20, features.data());
  }
  return num_allocations - before;
}

TEST(FbankAllocationTest, AllocationsAreCounted) {
  const int64_t before = num_allocations;
  const std::vector<float> values(100);
  EXPECT_EQ(values.size(), 100U);
  EXPECT_EQ(num_allocations - before, 1);
  // Half of this length is 11 * 18, and KISS FFT allocates for prime factors above 5.
  FbankOptions options;
  options.frame_length_ms = 24.75F;
  options.round_to_power_of_two = false;
  ASSERT_EQ(options.FftSize(), 396);
  EXPECT_GE(AllocationsOfFrames(Fbank(options)), kNumFrames);
}

TEST(FbankAllocationTest, NoneForFrames) {
  for (const float length_ms : {20.0F, 25.0F, 32.0F}) {
    for (const int num_mel_bins : {23, 40, 80}) {
      for (const bool round_to_power_of_two : {false, true}) {
        for (const bool all : {false, true}) {
          FbankOptions options;
          options.frame_length_ms = length_ms;
          options.num_mel_bins = num_mel_bins;
          options.round_to_power_of_two = round_to_power_of_two;
          options.use_energy = all;
          options.dither = all ? 1.0F : 0.0F;
          // Filters would be without a point.
          if (num_mel_bins > 40 && options.FftSize() < 512) continue;
          const auto fbank = std::make_shared<const Fbank>(options);
          EXPECT_EQ(AllocationsOfFrames(*fbank), 0) << length_ms << " " << num_mel_bins;
          EXPECT_EQ(AllocationsOfStream(fbank), 0) << length_ms << " " << num_mel_bins;
        }
      }
    }
  }
  const auto spectrogram = std::make_shared<const MelSpectrogram>(MelSpectrogramOptions());
  EXPECT_EQ(AllocationsOfFrames(*spectrogram), 0);
  EXPECT_EQ(AllocationsOfStream(spectrogram), 0);
}

}  // namespace
}  // namespace runnel
