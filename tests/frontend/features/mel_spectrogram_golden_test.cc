// The features of MelSpectrogram and FeatureStream against torch.stft and filters written from
// their definition (tests/golden/make_mel_goldens.py).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "frontend/features/mel_spectrogram.h"
#include "tests/support/feature_goldens.h"

namespace runnel {
namespace {

using testing::ComputeFeatures;
using testing::FeatureCase;
using testing::FeatureGoldenPath;
using testing::ReadFeatureCases;
using testing::ReadSamples;

// Sets the option, or `num_samples`.
void SetOption(const std::string& name, const std::string& value, MelSpectrogramOptions* options,
               size_t* num_samples) {
  const auto flag = [&] { return value == "1"; };
  const auto number = [&] { return std::stof(value); };
  const auto integer = [&] { return std::stoi(value); };
  if (name == "num_samples") {
    *num_samples = static_cast<size_t>(integer());
  } else if (name == "sample_frequency") {
    options->sample_frequency = number();
  } else if (name == "preemph_coeff") {
    options->preemph_coeff = number();
  } else if (name == "fft_size") {
    options->fft_size = integer();
  } else if (name == "frame_length") {
    options->frame_length = integer();
  } else if (name == "frame_shift") {
    options->frame_shift = integer();
  } else if (name == "padding") {
    options->edge = value == "reflect" ? AudioEdge::kReflect : AudioEdge::kZero;
  } else if (name == "last_frame") {
    options->last_frame = flag();
  } else if (name == "window_type") {
    options->window_type = value;
  } else if (name == "periodic_window") {
    options->periodic_window = flag();
  } else if (name == "num_mel_bins") {
    options->num_mel_bins = integer();
  } else if (name == "low_freq") {
    options->low_freq = number();
  } else if (name == "high_freq") {
    options->high_freq = number();
  } else if (name == "mel_scale") {
    options->mel_scale = value == "htk" ? MelScale::kHtk : MelScale::kSlaney;
  } else if (name == "slaney_norm") {
    options->slaney_norm = flag();
  } else if (name == "use_power") {
    options->use_power = flag();
  } else if (name == "log_guard") {
    options->log_guard = value == "floor" ? LogGuard::kFloor : LogGuard::kAdd;
  } else if (name == "log_guard_value") {
    options->log_guard_value = number();
  } else {
    ADD_FAILURE() << "option " << name << " is unknown";
  }
}

class MelSpectrogramGoldenTest : public ::testing::TestWithParam<FeatureCase> {};

TEST_P(MelSpectrogramGoldenTest, SameFeatures) {
  const FeatureCase& golden = GetParam();
  std::vector<float> samples = ReadSamples(FeatureGoldenPath("input.wav"));
  size_t num_samples = samples.size();
  MelSpectrogramOptions options;
  for (const auto& [name, value] : golden.options) SetOption(name, value, &options, &num_samples);
  samples.resize(num_samples);
  const std::vector<float> actual =
      ComputeFeatures(std::make_shared<const MelSpectrogram>(options), samples, 1.0F);
  ASSERT_EQ(static_cast<size_t>(options.num_mel_bins), golden.dim);
  ASSERT_EQ(golden.features.size(), golden.num_frames * golden.dim);
  ASSERT_EQ(actual.size(), golden.features.size());
  float max_error = 0.0F;
  for (size_t i = 0; i < actual.size(); ++i) {
    const float error = std::abs(actual[i] - golden.features[i]);
    max_error = std::max(max_error, error);
    // As against Kaldi: the FFT is in single precision.
    EXPECT_LE(error, 5e-4F) << "frame " << i / golden.dim << ", column " << i % golden.dim << ": "
                            << actual[i] << ", expected " << golden.features[i];
  }
  ::testing::Test::RecordProperty("max_error", std::to_string(max_error));
}

INSTANTIATE_TEST_SUITE_P(Grid, MelSpectrogramGoldenTest,
                         ::testing::ValuesIn(ReadFeatureCases("mel_spectrogram.txt")),
                         [](const ::testing::TestParamInfo<FeatureCase>& param) {
                           return param.param.name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MelSpectrogramGoldenTest);

TEST(MelSpectrogramGoldenFilesTest, ArePresent) {
  EXPECT_GE(ReadFeatureCases("mel_spectrogram.txt").size(), 39U);
}

}  // namespace
}  // namespace runnel
