#include "tools/server/resources/stream_request.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "runtime/model.h"
#include "runtime/options/option_error.h"
#include "runtime/options/stream_options.h"
#include "runtime/text/printable.h"
#include "tools/cli/decimal.h"
#include "tools/server/protocol/language_match.h"

namespace runnel::server {
namespace {

constexpr size_t kMaxLanguageBytes = 40;
// Of its left context a cached window computes as many encoder frames anew at most: the first 2.56
// s of a model that normalises features over the utterance, also after each reset of the encoder.
constexpr int64_t kMostComputedAnew = 64;

// The value of the limit of the server with this name.
double LimitOf(const Limits& limits, const std::string& name) {
  for (const LimitRow& row : LimitTable()) {
    if (row.name != name) continue;
    return std::visit([&](const auto field) { return static_cast<double>(limits.*field); },
                      row.field);
  }
  throw std::logic_error("no limit has the name " + name);
}

// Throws when a number exceeds the option's limit on this server. A limit of -1 permits any.
// `name`: the clients' of the option.
void CheckLimit(const StreamOption& option, const std::string& name, int64_t value,
                const Limits& limits) {
  if (option.server_limit.empty()) return;
  const auto limit = static_cast<int64_t>(LimitOf(limits, option.server_limit));
  const SpecialNumber* const special = option.SpecialOf(value);
  const bool is_more = special != nullptr ? special->is_most : value > limit;
  if (limit == StreamOptions::kWholeUtterance || !is_more) return;
  const std::string meaning = special != nullptr ? " (" + special->meaning + ")" : "";
  throw OptionError(OptionName(name) + " is " + std::to_string(value) + meaning +
                    ", expected at most " + std::to_string(limit) + " on this server (--" +
                    option.server_limit + ")");
}

// Whether a value leaves the option to the server, as one that nobody chose does.
bool IsOfModel(const OptionValue& value) {
  const int64_t* const integer = std::get_if<int64_t>(&value);
  return integer != nullptr && *integer == StreamOptions::kModelDefault;
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

// A client with small chunks in large windows would compute many times as much as its audio.
void CheckWindow(const StreamOptions& options, const Limits& limits) {
  if (options.right_context < 0 || options.left_context < 0 || options.chunk_size < 1) return;
  const int64_t left_context = options.cached_windows
                                   ? std::min(options.left_context, kMostComputedAnew)
                                   : options.left_context;
  const int64_t contexts = left_context + options.right_context;
  if (contexts <= (limits.max_window_factor - 1) * options.chunk_size) return;
  const auto chosen = [](const char* name, int64_t value) {
    return OptionName(name, std::to_string(value));
  };
  throw OptionError(OptionName("chunk_size") + " is " + std::to_string(options.chunk_size) +
                    ", expected more with " + chosen("left_context", options.left_context) +
                    " and " + chosen("right_context", options.right_context) +
                    ": a window computes at most " + std::to_string(limits.max_window_factor) +
                    " times its chunk on this server (--max_window_factor)");
}

// The whole utterance has no contexts that the server chose for chunks, and chunks without right
// context are no windows.
void AdaptContexts(ChosenOptions* options) {
  StreamOptions& stream = options->values.stream;
  const bool is_whole = stream.chunk_size == StreamOptions::kWholeUtterance;
  if (is_whole || stream.right_context == StreamOptions::kNoRightContext) {
    if (!options->Has("cached_windows")) stream.cached_windows = false;
  }
  if (!is_whole) return;
  if (!options->Has("left_context")) stream.left_context = StreamOptions::kModelDefault;
  if (!options->Has("right_context")) stream.right_context = StreamOptions::kModelDefault;
}

// Takes what the client leaves to the server, and checks what it chose against the limits.
void TakeDefaults(const OptionValues& defaults, const Limits& limits, ChosenOptions* options) {
  for (const StreamOption& option : StreamOptionTable()) {
    if (option.is_file()) continue;
    const OptionValue value = Get(option, options->values);
    if (options->Has(option.name) && !IsOfModel(value)) {
      if (const int64_t* number = std::get_if<int64_t>(&value)) {
        CheckLimit(option, option.name, *number, limits);
      }
    } else if (option.IsOf(OptionUser::kServer)) {
      runnel::Set(option, Get(option, defaults), &options->values);
    }
  }
}

// What the server chose for another search or head than the client's would be refused, so it is
// left out.
void AdaptSearch(const StartRequest& request, const SearchOptions& defaults,
                 ChosenOptions* options) {
  SearchOptions& search = options->values.stream.search;
  const bool chooses_ctc = options->Has("head") && search.head == Head::kCtc;
  if (!options->Has("search")) {
    const bool is_rescored = options->Has("rescoring") && search.rescoring.enabled;
    const bool needs_beam = request.max_alternatives > 1 || options->Has("hotwords") || is_rescored;
    const bool is_too_simple = needs_beam && defaults.method == SearchMethod::kGreedy;
    const bool has_no_such = chooses_ctc && defaults.method == SearchMethod::kModifiedBeam;
    if (is_too_simple || has_no_such) search.method = SearchMethod::kPrefixBeam;
  }
  const bool is_of_server = search.method == defaults.method && !chooses_ctc;
  if (chooses_ctc) {
    for (const StreamOption& option : StreamOptionTable()) {
      if (option.head.empty() || options->Has(option.name)) continue;
      runnel::Set(option, Get(option, OptionValues()), &options->values);
    }
  }
  if (!is_of_server && !options->Has("ctc_weight")) search.ctc_weight = 0;
  if (search.method == SearchMethod::kGreedy) {
    if (!options->Has("rescoring")) search.rescoring = RescoringOptions();
    return;
  }
  if (search.hotwords == nullptr) search.hotwords = defaults.hotwords;
  search.language_model = defaults.language_model;
}

std::string LanguageOf(const StartRequest& request, const std::string& otherwise,
                       const std::vector<std::string>& languages) {
  // An unknown one is named in an error message.
  const StreamOptions& chosen = request.options.values.stream;
  if (request.options.Has("language")) return Printable(chosen.language, kMaxLanguageBytes);
  if (!request.language_hint.has_value()) return otherwise;
  return MatchLanguage(languages, *request.language_hint).value_or(otherwise);
}

// A client that takes fewer results than it asks for gets as many as the server permits, from a
// beam that holds them.
void CompleteAlternatives(const StartRequest& request, const Limits& limits,
                          StreamOptions* options) {
  if (request.max_alternatives == 0) return;
  options->nbest = std::min(request.max_alternatives, limits.max_nbest);
  options->search.beam_size = std::max(options->search.beam_size, options->nbest);
}

}  // namespace

StreamOptions CompleteOptions(const StartRequest& request, const ChosenOptions& defaults,
                              const Limits& limits, const std::vector<std::string>& languages) {
  ChosenOptions options = request.options;
  StreamOptions& stream = options.values.stream;
  CheckSampleRate(stream.sample_rate_hz, limits);
  if (stream.sample_rate_hz == 0 && request.encoding == SampleEncoding::kOpus) {
    stream.sample_rate_hz = OpusRateFor(defaults.values.stream.sample_rate_hz);
  }
  TakeDefaults(defaults.values, limits, &options);
  AdaptContexts(&options);
  AdaptSearch(request, defaults.values.stream.search, &options);
  CompleteAlternatives(request, limits, &stream);
  if (!options.Has("beam_size") && stream.search.method != SearchMethod::kGreedy) {
    stream.search.beam_size = std::min(stream.search.beam_size, limits.max_beam_size);
  }
  if (request.max_alternatives > 1) stream.nbest = std::min(stream.nbest, stream.search.beam_size);
  stream.language = LanguageOf(request, defaults.values.stream.language, languages);
  if (request.expects_endpointing && !options.Has("endpointing") && !defaults.Has("endpointing")) {
    stream.endpoints.enabled = true;
  }
  CompleteSearch(&options);
  CheckEarlyText(stream, limits);
  CheckWindow(stream, limits);
  return stream;
}

std::shared_ptr<LiveStream> OpenStream(const Services& services, const std::string& account,
                                       const StartRequest& request, UpdateCallback on_update) {
  return services.recognizer->Open(
      CompleteOptions(request, *services.default_options.Get(), services.limits,
                      services.recognizer->model()->languages()),
      std::move(on_update), account);
}

void CheckResumed(const StreamOptions& resumed, const ChosenOptions& defaults,
                  const Limits& limits) {
  OptionValues values;
  values.stream = resumed;
  for (const StreamOption& option : StreamOptionTable()) {
    if (option.is_file()) continue;
    const OptionValue value = Get(option, values);
    const int64_t* const number = std::get_if<int64_t>(&value);
    const bool is_of_server = value == Get(option, defaults.values);
    if (number != nullptr && !is_of_server) CheckLimit(option, option.name, *number, limits);
  }
  CheckEarlyText(resumed, limits);
  CheckWindow(resumed, limits);
}

void CheckNBest(int nbest, const Limits& limits) {
  CheckLimit(StreamOptionOf("nbest"), "nbest", nbest, limits);
}

void CheckSampleRate(int sample_rate_hz, const Limits& limits) {
  CheckLimit(StreamOptionOf("sample_rate_hz"), "sample_rate", sample_rate_hz, limits);
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
