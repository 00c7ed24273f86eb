// The features of Fbank and FeatureStream against those of Kaldi and of torchaudio.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "frontend/features/fbank.h"
#include "frontend/features/mfcc.h"
#include "tests/support/feature_goldens.h"
#include "tests/support/shared_data.h"
#include "tests/support/tolerances.h"
#include "tests/support/worst_of.h"

namespace runnel {
namespace {

using testing::FeatureCase;
using testing::FeatureGoldenPath;
using testing::ReadFeatureCases;
using testing::ReadSamples;

std::vector<float> ComputeFeatures(const FbankOptions& options, const std::vector<float>& samples) {
  return testing::ComputeFeatures(std::make_shared<const Fbank>(options), samples, 32768.0F);
}

// ---- Kaldi's compute-fbank-feats ----

// The values of Kaldi's text format: "name [", rows, "]".
std::vector<float> ReadKaldiText(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word >> word;
  EXPECT_EQ(word, "[") << path;
  std::vector<float> values;
  while (file >> word && word != "]") values.push_back(std::stof(word));
  EXPECT_EQ(word, "]") << path;
  return values;
}

void ExpectEqualsKaldi(const FbankOptions& options, const std::string& name) {
  const std::vector<float> expected = ReadKaldiText(SharedData("kaldi_fbank/" + name));
  const std::vector<float> actual =
      ComputeFeatures(options, ReadSamples(SharedData("kaldi_fbank/test.wav")));
  ASSERT_EQ(actual.size(), expected.size());
  ASSERT_GT(actual.size(), 20000U);
  double max_error = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    max_error = testing::WorstOf(max_error, std::abs(actual[i] - expected[i]));
  }
  ::testing::Test::RecordProperty("max_error", std::to_string(max_error));
  EXPECT_LE(max_error, testing::kKaldiTolerance);
}

TEST(FbankKaldiTest, Prepared) {
  RUNNEL_REQUIRE_SHARED_DATA("kaldi_fbank");
  FbankOptions options;
  options.use_energy = true;
  options.raw_energy = false;
  options.energy_floor = 1.0F;
  ExpectEqualsKaldi(options, "fbank-prep.txt");
}

TEST(FbankKaldiTest, Plain) {
  RUNNEL_REQUIRE_SHARED_DATA("kaldi_fbank");
  FbankOptions options;
  options.preemph_coeff = 0.0F;
  options.energy_floor = 1.0F;
  options.remove_dc_offset = false;
  options.round_to_power_of_two = false;
  options.window_type = "rectangular";
  ExpectEqualsKaldi(options, "fbank-plain.txt");
}

// ---- torchaudio.compliance.kaldi ----

void SetOption(const std::string& name, const std::string& value, FbankOptions* options) {
  const auto flag = [&] { return value == "1"; };
  const auto number = [&] { return std::stof(value); };
  if (name == "sample_frequency") {
    options->sample_frequency = number();
  } else if (name == "frame_length_ms") {
    options->frame_length_ms = number();
  } else if (name == "frame_shift_ms") {
    options->frame_shift_ms = number();
  } else if (name == "snip_edges") {
    options->snip_edges = flag();
  } else if (name == "remove_dc_offset") {
    options->remove_dc_offset = flag();
  } else if (name == "preemph_coeff") {
    options->preemph_coeff = number();
  } else if (name == "window_type") {
    options->window_type = value;
  } else if (name == "blackman_coeff") {
    options->blackman_coeff = number();
  } else if (name == "round_to_power_of_two") {
    options->round_to_power_of_two = flag();
  } else if (name == "num_mel_bins") {
    options->num_mel_bins = std::stoi(value);
  } else if (name == "low_freq") {
    options->low_freq = number();
  } else if (name == "high_freq") {
    options->high_freq = number();
  } else if (name == "use_power") {
    options->use_power = flag();
  } else if (name == "use_log_fbank") {
    options->use_log_fbank = flag();
  } else if (name == "use_energy") {
    options->use_energy = flag();
  } else if (name == "raw_energy") {
    options->raw_energy = flag();
  } else if (name == "energy_floor") {
    options->energy_floor = number();
  } else if (name == "htk_compat") {
    options->htk_compat = flag();
  } else {
    ADD_FAILURE() << "option " << name << " is unknown";
  }
}

class FbankTorchaudioTest : public ::testing::TestWithParam<FeatureCase> {};

TEST_P(FbankTorchaudioTest, SameFeatures) {
  const FeatureCase& golden = GetParam();
  FbankOptions options;
  for (const auto& [name, value] : golden.options) SetOption(name, value, &options);
  const std::vector<float> actual =
      ComputeFeatures(options, ReadSamples(FeatureGoldenPath("input.wav")));
  ASSERT_EQ(static_cast<size_t>(options.FeatureDim()), golden.dim);
  ASSERT_EQ(golden.features.size(), golden.num_frames * golden.dim);
  ASSERT_EQ(actual.size(), golden.features.size());
  float max_error = 0.0F;
  for (size_t i = 0; i < actual.size(); ++i) {
    // Logarithms have the tolerance of the Kaldi test; values that are not logarithms, 1e-4 of the
    // value (that is what an error of 1e-4 in the logarithm means), or of 1.
    const bool is_log = options.use_log_fbank;
    const float scale = is_log ? 1.0F : std::max(std::abs(golden.features[i]), 1.0F) * 0.2F;
    const float error = std::abs(actual[i] - golden.features[i]) / scale;
    max_error = std::max(max_error, error);
    EXPECT_LE(error, testing::kKaldiTolerance)
        << "frame " << i / golden.dim << ", column " << i % golden.dim << ": " << actual[i]
        << ", expected " << golden.features[i];
  }
  ::testing::Test::RecordProperty("max_error", std::to_string(max_error));
}

INSTANTIATE_TEST_SUITE_P(Grid, FbankTorchaudioTest,
                         ::testing::ValuesIn(ReadFeatureCases("fbank.txt")),
                         [](const ::testing::TestParamInfo<FeatureCase>& param) {
                           return param.param.name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FbankTorchaudioTest);

class MfccTorchaudioTest : public ::testing::TestWithParam<FeatureCase> {};

TEST_P(MfccTorchaudioTest, SameFeatures) {
  const FeatureCase& golden = GetParam();
  MfccOptions options;
  for (const auto& [name, value] : golden.options) {
    if (name == "num_ceps") {
      options.num_ceps = std::stoi(value);
    } else if (name == "cepstral_lifter") {
      options.cepstral_lifter = std::stof(value);
    } else {
      SetOption(name, value, &options);
    }
  }
  const std::vector<float> actual = testing::ComputeFeatures(
      std::make_shared<const Mfcc>(options), ReadSamples(FeatureGoldenPath("input.wav")), 32768.0F);
  ASSERT_EQ(static_cast<size_t>(options.num_ceps), golden.dim);
  ASSERT_EQ(actual.size(), golden.num_frames * golden.dim);
  for (size_t i = 0; i < actual.size(); ++i) {
    // The lifter multiplies a coefficient, and its error, by up to 1 + Q / 2.
    const float tolerance = testing::kKaldiTolerance * (1 + options.cepstral_lifter / 2);
    EXPECT_NEAR(actual[i], golden.features[i], tolerance)
        << "frame " << i / golden.dim << ", coefficient " << i % golden.dim;
  }
}

INSTANTIATE_TEST_SUITE_P(Grid, MfccTorchaudioTest,
                         ::testing::ValuesIn(ReadFeatureCases("mfcc.txt")),
                         [](const ::testing::TestParamInfo<FeatureCase>& param) {
                           return param.param.name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MfccTorchaudioTest);

TEST(FbankTorchaudioFilesTest, ArePresent) {
  EXPECT_GE(ReadFeatureCases("fbank.txt").size(), 40U);
  EXPECT_GE(ReadFeatureCases("mfcc.txt").size(), 7U);
}

}  // namespace
}  // namespace runnel
