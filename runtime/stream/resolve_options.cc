// The options of a stream as a model serves them.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/attention_decoder/attention_decoder.h"
#include "runtime/model/model_parts.h"
#include "runtime/options/option_error.h"
#include "runtime/options/stream_options.h"
#include "runtime/stream/stream_state.h"
#include "runtime/text/printable.h"

namespace runnel {
namespace {

// Throws OptionError for an option of transducers that was chosen beside the CTC head.
void CheckIsOfNoTransducer(const OptionValues& values) {
  for (const StreamOption& option : StreamOptionTable()) {
    if (option.head.empty() || Get(option, values) == Get(option, OptionValues())) continue;
    throw OptionError(OptionName(option.name) + " is of transducers, got the CTC head");
  }
}

void ResolveStreaming(const ModelConfig& config, StreamOptions* options) {
  constexpr int64_t kDefault = StreamOptions::kModelDefault;
  const StreamingConfig& streaming = config.streaming;
  const std::optional<StreamingSetting>& window = streaming.window;
  const bool is_chosen = options->chunk_size != kDefault;
  if (!is_chosen) {
    const bool is_window = window && (options->right_context >= 0 ||
                                      (options->right_context == kDefault &&
                                       options->left_context != StreamOptions::kUnlimited));
    options->chunk_size = is_window ? window->chunk_size : streaming.chunk_size;
  }
  if (options->right_context == kDefault) {
    const bool needs_window = window && options->chunk_size != StreamOptions::kWholeUtterance &&
                              (!is_chosen || config.encoder.NeedsWholeUtterance() != nullptr);
    options->right_context = needs_window ? window->right_context : StreamOptions::kNoRightContext;
  }
  if (options->left_context == kDefault) {
    const bool is_window = window && options->right_context != StreamOptions::kNoRightContext;
    options->left_context = is_window ? window->left_context : streaming.left_context;
  }
  CheckStreaming(config, {options->chunk_size, options->left_context, options->right_context,
                          options->cached_windows});
}

void ResolveHead(const Model& model, SearchOptions* search) {
  const ModelParts& parts = model.parts();
  if (search->head == Head::kDefault) {
    search->head = parts.transducer != nullptr ? Head::kTransducer : Head::kCtc;
  }
  const bool is_ctc = search->head == Head::kCtc;
  if (is_ctc ? parts.ctc_head == nullptr : parts.transducer == nullptr) {
    throw OptionError(OptionName("head") + " is " + (is_ctc ? "ctc" : "transducer") +
                      ", but the model has only a " + (is_ctc ? "transducer" : "CTC head"));
  }
  if (is_ctc) {
    OptionValues values;
    values.stream.search = *search;
    CheckIsOfNoTransducer(values);
  }
  if (search->ctc_weight > 0 && parts.ctc_head == nullptr) {
    throw OptionError(OptionName("ctc_weight") + " is " + std::to_string(search->ctc_weight) +
                      ", expected 0: the model has no CTC head");
  }
}

void CheckRescoring(const Model& model, const RescoringOptions& rescoring) {
  if (!rescoring.enabled) return;
  const std::unique_ptr<const AttentionDecoder>& decoder = model.parts().attention_decoder;
  if (decoder == nullptr) {
    throw OptionError(OptionName("rescoring") + " is on, but the model has no attention decoder");
  }
  if (rescoring.reverse_weight > 0 && decoder->config().right_layers == 0) {
    throw OptionError(OptionName("reverse_weight") + " is " +
                      std::to_string(rescoring.reverse_weight) +
                      ", expected 0: the model has no attention decoder from right to left");
  }
}

}  // namespace

std::optional<double> LongestWholeS(const Model& model, const StreamOptions& options) {
  constexpr int64_t kDefault = StreamOptions::kModelDefault;
  const bool is_chosen = options.chunk_size != kDefault || options.left_context != kDefault ||
                         options.right_context != kDefault || options.cached_windows;
  if (!model.streaming().window || is_chosen) return std::nullopt;
  return kLongestWholeS;
}

const TokenTable& TextTokens(const Model& model, const StreamOptions& options) {
  const ModelParts& parts = model.parts();
  return options.show_special_tokens ? parts.tokens_with_special : parts.tokens;
}

StreamOptions ResolveOptions(const Model& model, StreamOptions options) {
  const ModelConfig& config = model.parts().config;
  ResolveStreaming(config, &options);
  options.search.Validate();
  ResolveHead(model, &options.search);
  CheckRescoring(model, options.search.rescoring);
  if (config.prompt) {
    config.prompt->IndexOf(options.language);  // throws for an unknown one
  } else if (!options.language.empty()) {
    throw OptionError(OptionName("language") + " is " + Quoted(options.language) +
                      ", expected none: the model has no language prompt");
  }
  options.endpoints.Validate();
  OptionValues values;
  values.stream = options;
  CheckRanges(values);
  if (options.early_text.interval > 0 && options.chunk_size == StreamOptions::kWholeUtterance) {
    throw OptionError(OptionName("early_text_interval") + " is " +
                      std::to_string(options.early_text.interval) + ", expected 0 with " +
                      OptionName("chunk_size", "-1") +
                      ": each preview would decode the whole audio so far");
  }
  if (options.sample_rate_hz == StreamOptions::kModelRate) {
    options.sample_rate_hz = model.sample_rate_hz();
  }
  return options;
}

}  // namespace runnel
