// What a model file says about itself outside the encoder's architecture: features, CTC, limits.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools. models/README.md specifies it.
#ifndef RUNNEL_RUNTIME_MODEL_CONFIG_H_
#define RUNNEL_RUNTIME_MODEL_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encoder/encoder_config.h"
#include "runtime/feature_config.h"

namespace runnel {

struct CtcConfig {
  int vocab_size = 0;
  int blank_id = 0;
};

// Both in encoder frames; chunk_size -1: the whole utterance; left_context -1: unlimited.
struct StreamingSetting {
  int64_t chunk_size = -1;
  int64_t left_context = -1;

  // E.g. "C=4 M=13", "C=full M=all".
  std::string Name() const;
};

// All in encoder frames; no value: no limit.
struct StreamingConfig {
  int64_t chunk_size = 16;    // recommended; -1: the whole utterance
  int64_t left_context = 64;  // recommended; -1: unlimited
  int64_t min_chunk_size = 1;
  std::optional<int64_t> max_chunk_size;
  std::optional<int64_t> max_left_context;
  // The only (chunk_size, left_context) that the model was trained for; empty: no such list.
  std::vector<StreamingSetting> only;
};

struct ModelConfig {
  std::string name;
  FeatureConfig features;
  EncoderConfig encoder;
  CtcConfig ctc;
  StreamingConfig streaming;
};

// Throw std::invalid_argument naming value and range when a stream may not use the size with this
// model.
void CheckChunkSize(const StreamingConfig& limits, int64_t chunk_size);
void CheckLeftContext(const StreamingConfig& limits, int64_t left_context);
// Both, and that they are one of the settings that the model was trained for, and that a model
// which needs the whole utterance gets it.
void CheckStreaming(const ModelConfig& config, const StreamingSetting& setting);

// Parses runnel.json strictly: every field once, no unknown one, values in range, sections that
// agree with each other. Throws std::runtime_error naming `source`, field, value and what was
// expected.
ModelConfig ParseModelConfig(const std::string& json_text, const std::string& source);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_CONFIG_H_
