// The `features` section of a model file: which extractor, and its options. models/README.md
// specifies it.
#ifndef RUNNEL_RUNTIME_MODEL_FEATURE_CONFIG_H_
#define RUNNEL_RUNTIME_MODEL_FEATURE_CONFIG_H_

#include <memory>
#include <string>
#include <variant>

#include "frontend/features/fbank_options.h"
#include "frontend/features/mel_spectrogram_options.h"
#include "frontend/features/mfcc_options.h"

namespace runnel {

class FrameExtractor;
class JsonSection;

// Samples in [-1, 1] are multiplied by sample_scale before the extractor takes them.
struct FeatureConfig {
  std::variant<FbankOptions, MfccOptions, MelSpectrogramOptions> options;
  float sample_scale = 32768;

  int dim() const;  // values per frame
};

// Throws std::invalid_argument as the options' Validate does.
std::shared_ptr<const FrameExtractor> MakeFrameExtractor(const FeatureConfig& config);

// Throws std::runtime_error naming `source`, field, value and what was expected.
FeatureConfig ParseFeatureConfig(JsonSection section, const std::string& source);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_FEATURE_CONFIG_H_
