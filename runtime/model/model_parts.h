// The parts of a loaded model, for the runtime and for tools that run them one by one
// (tools/dump_encoder.cc, tools/verification). Not part of the public interface.
//
// This folder loads a model: it parses the configuration, chooses the backend and computes the
// fingerprint.
#ifndef RUNNEL_RUNTIME_MODEL_MODEL_PARTS_H_
#define RUNNEL_RUNTIME_MODEL_MODEL_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "encoder/cpu/options.h"
#include "encoder/ctc_head.h"
#include "encoder/encoder.h"
#include "frontend/features/frame_extractor.h"
#include "runtime/attention_decoder/attention_decoder.h"
#include "runtime/model.h"
#include "runtime/model/model_config.h"
#include "runtime/token_table.h"
#include "runtime/transducer/language_prompt.h"
#include "runtime/transducer/transducer.h"

namespace runnel {

// Immutable: every part may be used from several threads at once.
struct ModelParts {
  Precision precision;                      // not kDefault
  std::optional<cpu::Options> cpu_options;  // none: the LibTorch backend
  ModelConfig config;                       // as the ModelOptions changed it
  TokenTable tokens;
  TokenTable tokens_with_special;  // TokenTable::WithSpecialTokens
  std::shared_ptr<const FrameExtractor> frame_extractor;
  Encoder encoder;
  std::unique_ptr<const CtcHead> ctc_head;                    // null: none
  std::unique_ptr<const Transducer> transducer;               // null: none
  std::unique_ptr<const AttentionDecoder> attention_decoder;  // null: none
  std::unique_ptr<const LanguagePrompt> prompt;               // null: none
  std::string fingerprint;
  std::string note;  // of the weights; usually empty

  // Throws std::runtime_error for a model without one.
  const CtcHead& RequireCtcHead() const {
    if (ctc_head != nullptr) return *ctc_head;
    throw std::runtime_error("model " + config.name +
                             " has no CTC head, expected a model with one");
  }

  // What the heads read of encoder frames, (rows, model_dim): with a prompt, its output for the
  // default language; otherwise the frames themselves.
  Matrix HeadsInput(Matrix encoder_rows) const {
    if (prompt == nullptr || encoder_rows.count() == 0) return encoder_rows;
    const std::vector<int64_t> languages(static_cast<size_t>(encoder_rows.count()),
                                         config.prompt->IndexOf(""));
    return prompt->Apply(std::as_const(encoder_rows).rows(), languages);
  }
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_MODEL_PARTS_H_
