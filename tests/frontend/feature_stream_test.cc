// The properties FeatureStream promises: the cut into packets, the moments of popping, copies and
// resets change no bit of the features.

#include "frontend/feature_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frontend/features/fbank.h"
#include "frontend/features/mel_spectrogram.h"
#include "frontend/features/mfcc.h"
#include "frontend/resampler.h"
#include "frontend/sample_range.h"

namespace runnel {
namespace {

std::vector<float> Noise(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, 0.1F);
  std::vector<float> samples(count);
  for (float& sample : samples) sample = normal(random);
  return samples;
}

void PopInto(FeatureStream* stream, size_t max_frames, std::vector<float>* features) {
  const size_t ready = static_cast<size_t>(stream->NumFramesReady());
  const size_t expected = std::min(ready, max_frames);
  const auto dim = static_cast<size_t>(stream->dim());
  const size_t old_size = features->size();
  features->resize(old_size + expected * dim);
  ASSERT_EQ(stream->PopFrames(max_frames, features->data() + old_size), expected);
}

constexpr size_t kAll = std::numeric_limits<size_t>::max();

std::vector<float> AllAtOnce(const std::shared_ptr<const FrameExtractor>& extractor,
                             const std::vector<float>& samples) {
  FeatureStream stream(extractor);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  std::vector<float> features;
  PopInto(&stream, kAll, &features);
  return features;
}

// The definition, without a stream: each frame's window cut from the whole signal, mirrored by
// stepping back from the ends as often as it takes.
std::vector<float> ByDefinition(const FrameExtractor& extractor,
                                const std::vector<float>& samples) {
  const auto size = static_cast<int64_t>(samples.size());
  const FrameGeometry& geometry = extractor.geometry();
  std::vector<float> signal;
  for (size_t i = 0; i < samples.size(); ++i) {
    const float before = i == 0 ? 0.0F : samples[i - 1] * 32768.0F;
    signal.push_back(samples[i] * 32768.0F - geometry.preemph_coeff * before);
  }
  // How far beyond the first and the last sample their images are.
  const int64_t step = geometry.edge == AudioEdge::kMirror ? 1 : 0;
  std::vector<float> features;
  FrameScratch scratch;
  for (int64_t frame = 0; frame < extractor.NumFrames(size, true); ++frame) {
    std::vector<float> window;
    for (int i = 0; i < extractor.frame_length(); ++i) {
      int64_t index = extractor.FirstSampleOfFrame(frame) + i;
      if (geometry.edge == AudioEdge::kZero && (index < 0 || index >= size)) {
        window.push_back(0.0F);
        continue;
      }
      while (size > 1 && (index < 0 || index >= size)) {
        index = index < 0 ? -index - step : 2 * (size - 1) + step - index;
      }
      window.push_back(signal[size == 1 ? 0 : static_cast<size_t>(index)]);
    }
    const auto dim = static_cast<size_t>(extractor.dim());
    features.resize(features.size() + dim);
    extractor.ComputeFrame(window.data(), frame, &scratch, features.data() + features.size() - dim);
  }
  return features;
}

struct Framing {
  std::string name;
  std::shared_ptr<const FrameExtractor> extractor;
};

std::string Name(const FbankOptions& options) {
  return "fbank frame_length_ms " + std::to_string(options.frame_length_ms) + " frame_shift_ms " +
         std::to_string(options.frame_shift_ms) + " snip_edges " +
         std::to_string(options.snip_edges) + " dither " + std::to_string(options.dither);
}

std::string Name(const MelSpectrogramOptions& options) {
  return "mel spectrogram frame_length " + std::to_string(options.frame_length) + " frame_shift " +
         std::to_string(options.frame_shift) + " zero " +
         std::to_string(options.edge == AudioEdge::kZero) + " last_frame " +
         std::to_string(options.last_frame);
}

// Extractors that differ in how windows lie on the audio.
std::vector<Framing> Framings() {
  std::vector<Framing> all;
  const auto add = [&](const FbankOptions& options) {
    all.push_back({Name(options), std::make_shared<const Fbank>(options)});
  };
  for (const bool snip_edges : {true, false}) {
    FbankOptions options;
    options.snip_edges = snip_edges;
    options.use_energy = true;
    add(options);
    options.dither = 1.0F;
    add(options);
    options.dither = 0.0F;
    options.sample_frequency = 11025.0F;
    options.frame_length_ms = 30.03F;  // 331 samples
    options.frame_shift_ms = 9.99F;    // 110 samples
    add(options);
    options.frame_shift_ms = 10.07F;  // 111 samples
    add(options);
    options.sample_frequency = 16000.0F;
    options.num_mel_bins = 12;
    options.frame_length_ms = 10.0F;
    options.frame_shift_ms = 17.0F;  // windows with gaps between them
    add(options);
    options.frame_length_ms = 8.0F;
    options.frame_shift_ms = 0.1875F;  // 3 samples
    add(options);
  }
  MfccOptions mfcc;
  mfcc.use_energy = true;
  all.push_back({"mfcc", std::make_shared<const Mfcc>(mfcc)});
  for (const AudioEdge edge : {AudioEdge::kZero, AudioEdge::kReflect}) {
    for (const bool last_frame : {false, true}) {
      MelSpectrogramOptions options;
      options.edge = edge;
      options.last_frame = last_frame;
      options.num_mel_bins = 12;
      for (const auto& [length, shift] : std::vector<std::pair<int, int>>{
               {400, 160}, {512, 128}, {331, 111}, {160, 270}, {128, 3}, {4, 160}}) {
        options.frame_length = length;
        options.frame_shift = shift;
        all.push_back({Name(options), std::make_shared<const MelSpectrogram>(options)});
      }
    }
  }
  return all;
}

TEST(FeatureStreamTest, EqualsTheDefinitionAtEveryLength) {
  const std::vector<float> samples = Noise(1300, 11);
  for (const auto& [name, extractor] : Framings()) {
    for (size_t length = 0; length <= samples.size(); length += length < 20 ? 1 : 37) {
      const std::vector<float> part(samples.begin(),
                                    samples.begin() + static_cast<std::ptrdiff_t>(length));
      ASSERT_EQ(AllAtOnce(extractor, part), ByDefinition(*extractor, part))
          << name << " length " << length;
    }
  }
}

TEST(FeatureStreamTest, AnyPacketSplitGivesTheSameBits) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  for (const auto& [name, extractor] : Framings()) {
    for (int round = 0; round < 20; ++round) {
      const std::vector<float> samples = Noise(random() % 5000, random());
      const std::vector<float> expected = AllAtOnce(extractor, samples);
      const size_t max_packet = std::vector<size_t>{1, 7, 160, 1000}[random() % 4];
      FeatureStream stream(extractor);
      std::vector<float> features;
      for (size_t i = 0; i < samples.size();) {
        const size_t count = std::min<size_t>(random() % (max_packet + 1),  // also 0
                                              samples.size() - i);
        stream.AcceptSamples(samples.data() + i, count);
        i += count;
        if (random() % 3 == 0) PopInto(&stream, random() % 4, &features);
      }
      stream.Finish();
      while (stream.NumFramesReady() > 0) PopInto(&stream, 1 + random() % 9, &features);
      ASSERT_EQ(features, expected)
          << name << " seed " << seed << " round " << round << " packets to " << max_packet;
      EXPECT_EQ(stream.samples_accepted(), static_cast<int64_t>(samples.size()));
      EXPECT_EQ(stream.samples_buffered(), 0U);
    }
  }
}

TEST(FeatureStreamTest, EveryLengthSampleBySample) {
  // The windows at the end reach back by the mirror; what they need must not have been dropped.
  const std::vector<float> samples = Noise(1000, 12);
  for (const auto& [name, extractor] : Framings()) {
    for (size_t length = 600; length < samples.size(); ++length) {
      const std::vector<float> part(samples.begin(),
                                    samples.begin() + static_cast<std::ptrdiff_t>(length));
      FeatureStream stream(extractor);
      std::vector<float> features;
      for (const float sample : part) {
        stream.AcceptSamples(&sample, 1);
        PopInto(&stream, kAll, &features);
      }
      stream.Finish();
      while (stream.NumFramesReady() > 0) PopInto(&stream, 1, &features);
      ASSERT_EQ(features, AllAtOnce(extractor, part)) << name << " length " << length;
    }
  }
}

TEST(FeatureStreamTest, SamplesForFramesAreTheFewest) {
  for (const auto& [name, extractor] : Framings()) {
    EXPECT_EQ(extractor->SamplesForFrames(0), 0) << name;
    for (int64_t frames = 1; frames < 12; ++frames) {
      const int64_t samples = extractor->SamplesForFrames(frames);
      EXPECT_GE(extractor->NumFrames(samples, false), frames) << name;
      EXPECT_LT(extractor->NumFrames(samples - 1, false), frames) << name;
    }
  }
}

TEST(FeatureStreamTest, CopyContinuesIdenticallyAndIndependently) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  for (const auto& [name, extractor] : Framings()) {
    const std::vector<float> start = Noise(random() % 3000, random());
    const std::vector<float> end = Noise(1500, random());
    const std::vector<float> other_end = Noise(700, random());

    FeatureStream stream(extractor);
    stream.AcceptSamples(start.data(), start.size());
    std::vector<float> features;
    PopInto(&stream, random() % 5, &features);

    FeatureStream copy = stream;
    std::vector<float> copy_features = features;
    // Interleaved, with different continuations.
    stream.AcceptSamples(end.data(), 800);
    copy.AcceptSamples(other_end.data(), other_end.size());
    PopInto(&stream, 1, &features);
    copy.Finish();
    PopInto(&copy, kAll, &copy_features);
    stream.AcceptSamples(end.data() + 800, 700);
    stream.Finish();
    PopInto(&stream, kAll, &features);

    std::vector<float> whole = start;
    whole.insert(whole.end(), end.begin(), end.end());
    EXPECT_EQ(features, AllAtOnce(extractor, whole)) << name << " seed " << seed;
    std::vector<float> other_whole = start;
    other_whole.insert(other_whole.end(), other_end.begin(), other_end.end());
    EXPECT_EQ(copy_features, AllAtOnce(extractor, other_whole)) << name << " seed " << seed;
  }
}

TEST(FeatureStreamTest, BufferHoldsOnlyWhatIsNeeded) {
  for (const auto& [name, extractor] : Framings()) {
    FeatureStream stream(extractor);
    // Without its last frame, a frame is known to exist only at the start of the next one.
    const int length = extractor->frame_length();
    const auto frame =
        static_cast<size_t>(std::max(length, extractor->frame_shift() + length / 2 + 1));
    std::vector<float> features(1000 * static_cast<size_t>(extractor->dim()));
    const std::vector<float> samples = Noise(1000, 6);
    for (int i = 0; i < 300; ++i) {
      stream.AcceptSamples(samples.data(), static_cast<size_t>(i * 7 % 1000));
      while (stream.PopFrames(1000, features.data()) > 0) {
      }
      EXPECT_LE(stream.samples_buffered(), frame) << name;
    }
  }
}

TEST(FeatureStreamTest, ManyTinyPacketsAndOneHugeAreBothLinear) {
  // Ten minutes. Erasing from the front at every packet or frame would take minutes.
  const auto fbank = std::make_shared<const Fbank>(FbankOptions());
  const std::vector<float> samples = Noise(16000 * 600, 7);
  FeatureStream huge(fbank);
  huge.AcceptSamples(samples.data(), samples.size());
  FeatureStream tiny(fbank);
  std::vector<float> expected(23);
  std::vector<float> actual(23);
  for (const float sample : samples) {
    tiny.AcceptSamples(&sample, 1);
    if (tiny.NumFramesReady() == 0) continue;
    ASSERT_EQ(tiny.PopFrames(1, actual.data()), 1U);
    ASSERT_EQ(huge.PopFrames(1, expected.data()), 1U);
    ASSERT_EQ(actual, expected) << "frame " << tiny.frames_popped();
  }
  EXPECT_EQ(huge.NumFramesReady(), 0);
  EXPECT_LE(huge.samples_buffered(), 400U);
}

TEST(FeatureStreamTest, SampleScaleMultiplies) {
  const auto fbank = std::make_shared<const Fbank>(FbankOptions());
  std::vector<float> samples = Noise(1000, 8);
  const std::vector<float> expected = AllAtOnce(fbank, samples);
  for (float& sample : samples) sample *= 16.0F;
  FeatureStream stream(fbank, 2048.0F);
  stream.AcceptSamples(samples.data(), samples.size());
  std::vector<float> features;
  PopInto(&stream, kAll, &features);
  EXPECT_EQ(features, expected);
}

TEST(FeatureStreamTest, TooShortForAFrame) {
  FeatureStream stream(std::make_shared<const Fbank>(FbankOptions()));
  const std::vector<float> samples = Noise(399, 9);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  stream.Finish();
  EXPECT_EQ(stream.NumFramesReady(), 0);
  EXPECT_EQ(stream.PopFrames(10, nullptr), 0U);
}

std::string Complaint(FeatureStream* stream, const std::vector<float>& samples) {
  try {
    stream->AcceptSamples(samples.data(), samples.size());
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(FeatureStreamTest, RejectsSamplesOutOfRange) {
  const auto fbank = std::make_shared<const Fbank>(FbankOptions());
  const std::vector<float> good = Noise(1000, 10);
  const float beyond = std::nextafter(-kMaxAmplitude, -std::numeric_limits<float>::max());
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), beyond, 32767.0F}) {
    FeatureStream stream(fbank);
    stream.AcceptSamples(good.data(), 500);
    std::vector<float> packet(good.begin() + 500, good.end());
    packet[123] = bad;
    packet[400] = bad;
    const std::string complaint = Complaint(&stream, packet);
    EXPECT_NE(complaint.find("sample 623 is"), std::string::npos) << complaint;
    EXPECT_NE(complaint.find(", expected samples in [-1, 1]"), std::string::npos) << complaint;
    // The stream is as it was.
    EXPECT_EQ(stream.samples_accepted(), 500);
    stream.AcceptSamples(good.data() + 500, 500);
    stream.Finish();
    std::vector<float> features;
    PopInto(&stream, kAll, &features);
    EXPECT_EQ(features, AllAtOnce(fbank, good));
  }
}

// The largest samples that are taken, amplified by the resampler, at the largest scale that is
// taken, still give finite features, in every shape that could add up.
TEST(FeatureStreamTest, EverySampleTakenGivesFiniteFeatures) {
  FbankOptions fbank;
  fbank.use_energy = true;
  fbank.use_log_fbank = false;
  MelSpectrogramOptions steep;  // filters of a fraction of 1 Hz, each of the area of 1 Hz
  steep.sample_frequency = 1000.0F;
  steep.low_freq = 499.0F;
  steep.high_freq = 500.0F;
  for (const std::shared_ptr<const FrameExtractor>& extractor :
       std::vector<std::shared_ptr<const FrameExtractor>>{
           std::make_shared<const Fbank>(fbank),
           std::make_shared<const MelSpectrogram>(MelSpectrogramOptions()),
           std::make_shared<const MelSpectrogram>(steep)}) {
    const float largest = kMaxAmplitude * Resampler::kMaxGain;
    const float scale = extractor->geometry().max_magnitude / largest;
    EXPECT_GT(scale, 1e6F);
    EXPECT_THROW(FeatureStream(extractor, scale * 1.001F), std::invalid_argument);
    for (const int period : {1, 2, 16, 1000}) {
      std::vector<float> samples(2000);
      for (size_t i = 0; i < samples.size(); ++i) {
        samples[i] = static_cast<int>(i) / ((period + 1) / 2) % 2 == 0 ? largest : -largest;
      }
      FeatureStream stream(extractor, scale);
      stream.AppendSamples(samples.data(), samples.size());
      stream.Finish();
      std::vector<float> features;
      PopInto(&stream, kAll, &features);
      for (const float feature : features) {
        ASSERT_TRUE(std::isfinite(feature)) << "period " << period;
      }
    }
  }
}

TEST(FeatureStreamTest, MisuseThrows) {
  const auto fbank = std::make_shared<const Fbank>(FbankOptions());
  EXPECT_THROW(FeatureStream(nullptr), std::invalid_argument);
  EXPECT_THROW(FeatureStream(fbank, 0.0F), std::invalid_argument);
  EXPECT_THROW(FeatureStream(fbank, -1.0F), std::invalid_argument);
  EXPECT_THROW(FeatureStream(fbank, std::numeric_limits<float>::quiet_NaN()),
               std::invalid_argument);
  FeatureStream stream(fbank);
  EXPECT_THROW(stream.AcceptSamples(nullptr, 1), std::invalid_argument);
  stream.AcceptSamples(nullptr, 0);
  stream.Finish();
  const float sample = 0.0F;
  EXPECT_THROW(stream.AcceptSamples(&sample, 1), std::invalid_argument);
}

}  // namespace
}  // namespace runnel
