#include "runtime/stream/resolve_options.h"

#include <memory>
#include <stdexcept>
#include <string>

#include "attention_decoder/attention_decoder.h"
#include "runtime/model/model_parts.h"
#include "runtime/text/printable.h"

namespace runnel {
namespace {

void ResolveHead(const Model& model, SearchOptions* search) {
  const ModelParts& parts = model.parts();
  if (search->head == Head::kDefault) {
    search->head = parts.transducer != nullptr ? Head::kTransducer : Head::kCtc;
  }
  const bool is_ctc = search->head == Head::kCtc;
  if (is_ctc ? parts.ctc_head == nullptr : parts.transducer == nullptr) {
    throw std::invalid_argument(std::string("the head is ") + (is_ctc ? "ctc" : "transducer") +
                                ", but the model has only a " +
                                (is_ctc ? "transducer" : "CTC head"));
  }
  if (is_ctc && (search->max_symbols > 0 || search->ctc_weight > 0)) {
    throw std::invalid_argument(std::string("search.") +
                                (search->max_symbols > 0 ? "max_symbols" : "ctc_weight") +
                                " is of transducers, got the CTC head");
  }
  if (search->ctc_weight > 0 && parts.ctc_head == nullptr) {
    throw std::invalid_argument("search.ctc_weight is " + std::to_string(search->ctc_weight) +
                                ", expected 0: the model has no CTC head");
  }
}

void CheckRescoring(const Model& model, const RescoringOptions& rescoring) {
  if (!rescoring.enabled) return;
  const std::unique_ptr<const AttentionDecoder>& decoder = model.parts().attention_decoder;
  if (decoder == nullptr) {
    throw std::invalid_argument(
        "search.rescoring is enabled, but the model has no attention decoder");
  }
  if (rescoring.reverse_weight > 0 && decoder->config().right_layers == 0) {
    throw std::invalid_argument(
        "search.rescoring.reverse_weight is " + std::to_string(rescoring.reverse_weight) +
        ", expected 0: the model has no attention decoder from right to left");
  }
}

}  // namespace

StreamOptions ResolveOptions(const Model& model, StreamOptions options) {
  const ModelConfig& config = model.parts().config;
  if (options.chunk_size == StreamOptions::kModelDefault) {
    options.chunk_size = config.streaming.chunk_size;
  }
  if (options.left_context == StreamOptions::kModelDefault) {
    options.left_context = config.streaming.left_context;
  }
  CheckStreaming(config, {options.chunk_size, options.left_context});
  options.search.Validate();
  ResolveHead(model, &options.search);
  CheckRescoring(model, options.search.rescoring);
  if (config.prompt) {
    config.prompt->IndexOf(options.language);  // throws for an unknown one
  } else if (!options.language.empty()) {
    throw std::invalid_argument("language is " + Quoted(options.language) +
                                ", expected none: the model has no language prompt");
  }
  options.endpoints.Validate();
  if (options.nbest < 1 || options.nbest > StreamOptions::kMaxNBest) {
    throw std::invalid_argument("nbest is " + std::to_string(options.nbest) + ", expected 1 to " +
                                std::to_string(StreamOptions::kMaxNBest));
  }
  if (options.early_text.interval < 0) {
    throw std::invalid_argument("early_text.interval is " +
                                std::to_string(options.early_text.interval) +
                                ", expected 0 or more");
  }
  if (options.early_text.interval > 0 && options.chunk_size == StreamOptions::kWholeUtterance) {
    throw std::invalid_argument(
        "early_text.interval is " + std::to_string(options.early_text.interval) +
        ", expected 0 with chunk_size -1: each preview would decode the whole audio so far");
  }
  if (options.early_text.padding < 0 ||
      options.early_text.padding > EarlyTextOptions::kMaxPadding) {
    throw std::invalid_argument("early_text.padding is " +
                                std::to_string(options.early_text.padding) + ", expected 0 to " +
                                std::to_string(EarlyTextOptions::kMaxPadding));
  }
  if (options.sample_rate_hz == StreamOptions::kModelRate) {
    options.sample_rate_hz = model.sample_rate_hz();
  } else if (options.sample_rate_hz < StreamOptions::kMinRate ||
             options.sample_rate_hz > StreamOptions::kMaxRate) {
    throw std::invalid_argument("sample_rate_hz is " + std::to_string(options.sample_rate_hz) +
                                ", expected " + std::to_string(StreamOptions::kMinRate) + " to " +
                                std::to_string(StreamOptions::kMaxRate) +
                                " or 0 (the model's rate)");
  }
  return options;
}

}  // namespace runnel
