// Cases of features with their options, as tests/golden/make_fbank_goldens.py and
// make_mel_goldens.py write them.
#ifndef RUNNEL_TESTS_SUPPORT_FEATURE_GOLDENS_H_
#define RUNNEL_TESTS_SUPPORT_FEATURE_GOLDENS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "frontend/audio_reader.h"
#include "frontend/feature_stream.h"

namespace runnel::testing {

struct FeatureCase {
  std::string name;
  std::vector<std::pair<std::string, std::string>> options;  // name, value
  std::size_t num_frames = 0;
  std::size_t dim = 0;
  std::vector<float> features;
};

inline void PrintTo(const FeatureCase& golden, std::ostream* out) { *out << golden.name; }

inline std::string FeatureGoldenPath(const std::string& name) {
  return std::string(RUNNEL_SOURCE_DIR) + "/tests/golden/fbank/" + name;
}

// Empty if the file is absent.
inline std::vector<FeatureCase> ReadFeatureCases(const std::string& name) {
  std::vector<FeatureCase> cases;
  std::ifstream file(FeatureGoldenPath(name));
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string keyword;
    words >> keyword;
    if (keyword == "case") {
      cases.emplace_back();
      words >> cases.back().name;
    } else if (keyword == "option") {
      std::pair<std::string, std::string> option;
      words >> option.first >> option.second;
      cases.back().options.push_back(option);
    } else if (keyword == "features") {
      words >> cases.back().num_frames >> cases.back().dim;
    } else {
      for (; !keyword.empty(); keyword.clear(), words >> keyword) {
        cases.back().features.push_back(std::stof(keyword));
      }
    }
  }
  return cases;
}

inline std::vector<float> ReadSamples(const std::string& path) {
  AudioReader reader(path);
  std::vector<float> samples(static_cast<std::size_t>(reader.num_samples().value()));
  EXPECT_EQ(reader.Read(samples.data(), samples.size()), samples.size());
  return samples;
}

// Rows of features, one after the other.
inline std::vector<float> ComputeFeatures(std::shared_ptr<const FrameExtractor> extractor,
                                          const std::vector<float>& samples, float sample_scale) {
  FeatureStream stream(std::move(extractor), sample_scale);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  const auto num_frames = static_cast<std::size_t>(stream.NumFramesReady());
  std::vector<float> features(num_frames * static_cast<std::size_t>(stream.dim()));
  EXPECT_EQ(stream.PopFrames(num_frames, features.data()), num_frames);
  return features;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_FEATURE_GOLDENS_H_
