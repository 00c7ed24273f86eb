// runnel.json, the configuration in a model file (models/README.md specifies it).
#ifndef RUNNEL_RUNTIME_MODEL_MODEL_CONFIG_H_
#define RUNNEL_RUNTIME_MODEL_MODEL_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>

#include "encoder/encoder_config.h"
#include "runtime/attention_decoder/attention_decoder_config.h"
#include "runtime/model/feature_config.h"
#include "runtime/streaming_config.h"
#include "runtime/token_kinds.h"
#include "runtime/transducer/language_prompt.h"
#include "runtime/transducer/transducer_config.h"

namespace runnel {

// Of all heads of a model.
struct VocabularyConfig {
  int vocab_size = 0;  // the blank included
  int blank_id = 0;
};

struct ModelConfig {
  std::string name;
  FeatureConfig features;
  EncoderConfig encoder;
  VocabularyConfig vocabulary;
  bool has_ctc = false;
  std::optional<TransducerConfig> transducer;  // one of the two heads at least
  std::optional<AttentionDecoderConfig> attention_decoder;
  // The file may hold tensors of an attention decoder that it does not describe (version 2).
  bool ignores_attention_decoder = false;
  std::optional<LanguagePromptConfig> prompt;
  std::optional<TokenKinds> token_kinds;  // absent in files before version 4, which tell none
  StreamingConfig streaming;
};

// Both throw std::invalid_argument naming value and range when the limits do not permit the size.
void CheckChunkSize(const StreamingConfig& limits, int64_t chunk_size);
void CheckLeftContext(const StreamingConfig& limits, int64_t left_context);
// Checks both, that the setting is one the model was trained for, and that a model which needs the
// whole utterance gets it; of a setting with a right context, that the model is an offline one.
// Throws std::invalid_argument.
void CheckStreaming(const ModelConfig& config, const StreamingSetting& setting);

// The window that an offline model recommends for live audio.
StreamingSetting WindowFor(double encoder_frame_ms);

// Parses runnel.json strictly: every field occurs once, none is unknown, values are in range, and
// the sections agree with each other. Throws std::runtime_error naming `source`, field, value and
// what was expected.
ModelConfig ParseModelConfig(const std::string& json_text, const std::string& source);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_MODEL_CONFIG_H_
