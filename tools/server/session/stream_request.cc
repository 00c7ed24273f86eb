#include "tools/server/session/stream_request.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/model.h"
#include "runtime/text/printable.h"
#include "tools/cli/decimal.h"

namespace runnel::server {
namespace {

constexpr size_t kMaxLanguageBytes = 40;

// `flag`: of the limit `most`.
[[noreturn]] void Refuse(const std::string& option, int64_t value, int64_t most,
                         const std::string& flag) {
  throw std::invalid_argument(option + " is " + std::to_string(value) + ", expected at most " +
                              std::to_string(most) + " on this server (--" + flag + ")");
}

bool IsTooLongChunk(int64_t chunk_size, const Limits& limits) {
  if (limits.max_chunk_size == StreamOptions::kWholeUtterance) return false;
  return chunk_size == StreamOptions::kWholeUtterance || chunk_size > limits.max_chunk_size;
}

// A client with many previews per chunk would compute several times as much as its audio.
void CheckEarlyText(const StreamOptions& options, const Limits& limits) {
  const int64_t interval = options.early_text.interval;
  if (interval == 0 || options.chunk_size == StreamOptions::kWholeUtterance) return;
  const int64_t num_previews = (options.chunk_size - 1) / interval;
  if (num_previews <= limits.max_previews) return;
  const int64_t least = (options.chunk_size + limits.max_previews) / (limits.max_previews + 1);
  throw std::invalid_argument("early_text is " + std::to_string(interval) +
                              ", expected 0 or at least " + std::to_string(least) +
                              " with a chunk_size of " + std::to_string(options.chunk_size) +
                              " on this server (--max_previews)");
}

// Adds what the client leaves to the server. What the server chose for another search or head than
// the client's would be refused, so it is left out.
void CompleteSearch(const StartRequest& request, const SearchOptions& defaults,
                    SearchOptions* search) {
  const ModelChoices& choices = request.choices;
  const bool chooses_ctc = choices.head == Head::kCtc;
  search->head = choices.head.value_or(defaults.head);
  if (!request.names_search) {
    const bool needs_beam = request.needs_beam || request.max_alternatives > 1;
    const bool is_too_simple = needs_beam && defaults.method == SearchMethod::kGreedy;
    const bool has_no_such = chooses_ctc && defaults.method == SearchMethod::kModifiedBeam;
    search->method = is_too_simple || has_no_such ? SearchMethod::kPrefixBeam : defaults.method;
  }
  search->max_symbols = choices.max_symbols.value_or(chooses_ctc ? 0 : defaults.max_symbols);
  const bool is_of_server = search->method == defaults.method && !chooses_ctc;
  search->ctc_weight = choices.ctc_weight.value_or(is_of_server ? defaults.ctc_weight : 0);
  search->token_beam = defaults.token_beam;
  if (search->method == SearchMethod::kGreedy) {
    search->rescoring = choices.rescoring.value_or(RescoringOptions());
    return;
  }
  search->rescoring = choices.rescoring.value_or(defaults.rescoring);
  if (search->hotwords == nullptr) search->hotwords = defaults.hotwords;
  search->language_model = defaults.language_model;
}

std::string LanguageOf(const ModelChoices& choices, const StreamOptions& defaults,
                       const std::vector<std::string>& languages) {
  // An unknown one is named in an error message.
  if (choices.language.has_value()) return Printable(*choices.language, kMaxLanguageBytes);
  if (!choices.language_hint.has_value()) return defaults.language;
  const std::string& hint = *choices.language_hint;
  for (const std::string& language : languages) {
    if (language == hint || language.compare(0, hint.size() + 1, hint + "-") == 0) return language;
  }
  return defaults.language;
}

// What the client chose and a greedy search would ignore.
void CheckEffects(const StartRequest& request, const StreamOptions& options) {
  if (options.search.method != SearchMethod::kGreedy) return;
  const auto fail = [](const std::string& option, int value, const std::string& expected) {
    throw std::invalid_argument(option + " is " + std::to_string(value) + ", expected " + expected +
                                "a beam search with it (the search is greedy)");
  };
  if (request.names_beam_size) fail("beam_size", options.search.beam_size, "");
  if (options.nbest > 1) fail("nbest", options.nbest, "1 or ");
}

// A client that takes fewer results than it asks for gets as many as the server permits, from a
// beam that holds them.
void CompleteAlternatives(const StartRequest& request, const Limits& limits,
                          StreamOptions* options) {
  if (request.max_alternatives == 0) return;
  options->nbest = std::min(request.max_alternatives, limits.max_nbest);
  options->search.beam_size = std::max(options->search.beam_size, options->nbest);
}

void LimitSearch(const StartRequest& request, const Limits& limits, SearchOptions* search) {
  if (search->method != SearchMethod::kGreedy) {
    if (request.names_beam_size && search->beam_size > limits.max_beam_size) {
      Refuse("beam_size", search->beam_size, limits.max_beam_size, "max_beam_size");
    }
    search->beam_size = std::min(search->beam_size, limits.max_beam_size);
  }
  const int max_symbols = request.choices.max_symbols.value_or(0);
  if (max_symbols > limits.max_frame_tokens) {
    Refuse("max_symbols", max_symbols, limits.max_frame_tokens, "max_frame_tokens");
  }
}

}  // namespace

StreamOptions CompleteOptions(const StartRequest& request, const StreamOptions& defaults,
                              const Limits& limits, const std::vector<std::string>& languages) {
  StreamOptions options = request.options;
  CheckSampleRate(options.sample_rate_hz, limits);
  if (options.sample_rate_hz == 0 && request.encoding == SampleEncoding::kOpus) {
    options.sample_rate_hz = OpusRateFor(defaults.sample_rate_hz);
  }
  if (options.chunk_size == StreamOptions::kModelDefault) {
    options.chunk_size = defaults.chunk_size;
  } else if (IsTooLongChunk(options.chunk_size, limits)) {
    Refuse(options.chunk_size == StreamOptions::kWholeUtterance ? "chunk_size (whole utterance)"
                                                                : "chunk_size",
           options.chunk_size, limits.max_chunk_size, "max_chunk_size");
  }
  if (options.left_context == StreamOptions::kModelDefault) {
    options.left_context = defaults.left_context;
  } else if (options.left_context == StreamOptions::kUnlimited ||
             options.left_context > limits.max_left_context) {
    Refuse(options.left_context == StreamOptions::kUnlimited ? "left_context (unlimited)"
                                                             : "left_context",
           options.left_context, limits.max_left_context, "max_left_context");
  }
  CompleteSearch(request, defaults.search, &options.search);
  CompleteAlternatives(request, limits, &options);
  LimitSearch(request, limits, &options.search);
  options.language = LanguageOf(request.choices, defaults, languages);
  CheckNBest(options.nbest, limits);
  CheckEffects(request, options);
  CheckEarlyText(options, limits);
  if (request.leaves_endpointing) options.endpoints.enabled = defaults.endpoints.enabled;
  return options;
}

std::shared_ptr<LiveStream> OpenStream(const Services& services, const std::string& account,
                                       const StartRequest& request, UpdateCallback on_update) {
  return services.recognizer->Open(
      CompleteOptions(request, services.default_options, services.limits,
                      services.recognizer->model()->languages()),
      std::move(on_update), account);
}

void CheckNBest(int nbest, const Limits& limits) {
  if (nbest > limits.max_nbest) Refuse("nbest", nbest, limits.max_nbest, "max_nbest");
}

void CheckSampleRate(int sample_rate_hz, const Limits& limits) {
  if (sample_rate_hz > limits.max_sample_rate) {
    Refuse("sample_rate", sample_rate_hz, limits.max_sample_rate, "max_sample_rate");
  }
}

bool WillFit(const LiveStream& stream, size_t num_samples) {
  return stream.options().chunk_size != StreamOptions::kWholeUtterance ||
         num_samples <= stream.Room() || stream.is_over();
}

std::string UtteranceTooLong(const Limits& limits) {
  return "chunk_size is -1, and the utterance is longer than the " +
         Decimal(limits.max_buffered_s, 1) + " s that this server buffers (--max_buffered_s)";
}

}  // namespace runnel::server
