#include "runtime/options/stream_options.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/options/option_error.h"

namespace runnel {
namespace {

using User = OptionUser;

constexpr double kMostFrames = 1000000;  // encoder frames: eleven hours of audio
constexpr OptionNeed kNothing;
constexpr OptionNeed kBeam = {"search", "beam"};
constexpr OptionNeed kRescoring = {"rescoring", "true"};
constexpr OptionNeed kEndpointing = {"endpointing", "true"};
constexpr OptionNeed kLanguageModel = {"language_model", ""};

// A field's path in OptionValues.
#define FIELD(path) (+[](OptionValues & values) -> auto& { return values.path; })

std::vector<StreamOption> MakeStreamTable() {
  using C = runnel_stream_options;
  using S = StreamOptions;
  using E = EndpointOptions;
  using Choice = OptionChoice;
  const std::vector<User> everybody = {User::kDecodeWav, User::kServer, User::kClient};
  const std::vector<User> flags = {User::kDecodeWav, User::kServer};
  const SpecialNumber of_model = {S::kModelDefault, "the model's"};
  // clang-format off
  // The order is that of a snapshot and of the documents.
  return {
      {"chunk_size", FIELD(stream.chunk_size), &C::chunk_size, 1, kMostFrames,
       {{S::kWholeUtterance, "the whole utterance", true}, of_model}, "encoder frames",
       "Frames decoded at a time. Larger chunks give higher accuracy and latency. Default of an "
       "offline model: windows (docs/models.md); the whole utterance for recordings of up to 60 s "
       "in runnel transcribe and Python's transcribe.", kNothing,
       everybody, "", "max_chunk_size"},
      {"left_context", FIELD(stream.left_context), &C::left_context, 0, kMostFrames,
       {{S::kUnlimited, "all", true}, of_model}, "encoder frames",
       "Frames before a chunk that it attends to.", kNothing, everybody, "", "max_left_context"},
      {"right_context", FIELD(stream.right_context), &C::right_context, 0, kMostFrames,
       {{S::kNoRightContext, "none"}, of_model}, "encoder frames",
       "Of an offline model: frames after a chunk, with which it is computed anew in a window "
       "(docs/models.md). Default: 0.64 s of audio, none with the whole utterance.",
       kNothing, everybody, "", "max_right_context"},
      {"cached_windows", FIELD(stream.cached_windows), &C::cached_windows, 0, 0, {}, "",
       "Compute the left context of a window once, and not anew in each window: down to a quarter "
       "of the computing time, other results (docs/accuracy.md). Needs windows.",
       kNothing, everybody, ""},
      {"sample_rate_hz", FIELD(stream.sample_rate_hz), &C::sample_rate_hz, S::kMinRate, S::kMaxRate,
       {{S::kModelRate, "the model's rate"}}, "Hz", "Rate of the samples.", kNothing,
       {User::kLive}, "", "max_sample_rate"},
      {"search", Choice({"greedy", "beam", "modified_beam"}, FIELD(stream.search.method)),
       &C::search, 0, 0, {}, "",
       "greedy; beam: beam search of the head's kind (the default with word_list, hotwords, "
       "language_model or rescoring); modified_beam: one label per frame, of transducers.",
       kNothing, everybody, ""},
      {"head", Choice({"", "ctc", "transducer"}, FIELD(stream.search.head)), &C::head, 0, 0, {}, "",
       "The part of the model that gives the search its probabilities. Default: the transducer of "
       "a model that has one.",
       kNothing, everybody, ""},
      {"beam_size", FIELD(stream.search.beam_size), &C::beam_size, 1, SearchOptions::kMaxBeamSize,
       {}, "", "Hypotheses that a beam search keeps per frame.", kBeam, everybody, "",
       "max_beam_size"},
      {"token_beam", FIELD(stream.search.token_beam), &C::token_beam, 1,
       SearchOptions::kMaxBeamSize, {}, "",
       "Most probable tokens that a beam search considers per frame.", kBeam, flags, ""},
      {"max_symbols", FIELD(stream.search.max_symbols), &C::max_symbols, 0,
       SearchOptions::kMaxSymbols, {}, "",
       "Most tokens of one encoder frame, with a transducer; 0: as the model says.", kNothing,
       everybody, "", "max_frame_tokens", "transducer"},
      {"ctc_weight", FIELD(stream.search.ctc_weight), &C::ctc_weight, 0, 1, {}, "",
       "Part of the CTC head in the probability of a label, in a transducer's beam search with one "
       "label per frame.",
       kNothing, everybody, "", "", "transducer"},
      {"rescoring", FIELD(stream.search.rescoring.enabled), &C::rescoring, 0, 0, {}, "",
       "Rescore the hypotheses of each utterance with the model's attention decoder.", kBeam,
       everybody, "rescore"},
      {"first_pass_weight", FIELD(stream.search.rescoring.first_pass_weight), &C::first_pass_weight,
       0, RescoringOptions::kMaxWeight, {}, "",
       "Weight of the first pass in the score of a rescored hypothesis.", kRescoring,
       everybody, ""},
      {"reverse_weight", FIELD(stream.search.rescoring.reverse_weight), &C::reverse_weight, 0, 1,
       {}, "", "Weight of the decoder from right to left in rescoring.", kRescoring,
       everybody, ""},
      {"language", FIELD(stream.language), &C::language, 0, 0, {}, "",
       "Language of the audio, for a multilingual model; empty: the model's default.", kNothing,
       everybody, ""},
      {"word_list", OptionFile{}, std::monostate(), 0, 0, {}, "",
       "Recognise only these words: a file with one word per line, or 'WORD token token ...' if "
       "the model's tokens are not single characters. Selects beam search.",
       kBeam, {User::kDecodeWav}, ""},
      {"nbest", FIELD(stream.nbest), &C::nbest, 1, S::kMaxNBest, {}, "",
       "Most hypotheses of a recording, or of an utterance; more than 1 need a beam search.",
       kNothing, {User::kDecodeWav, User::kClient}, "", "max_nbest"},
      {"endpointing", FIELD(stream.endpoints.enabled), &C::endpointing, 0, 0, {}, "",
       "Divide the audio into utterances, by silence and length (docs/utterances.md).", kNothing,
       everybody, ""},
      {"endpoint_silence_s", FIELD(stream.endpoints.rules[E::kSilence].min_silence_s),
       &C::endpoint_silence_s, E::kMinSilenceS, E::kMaxSeconds, {}, "s",
       "Silence after speech that ends an utterance.", kEndpointing, everybody, "endpoint_silence"},
      {"endpoint_initial_silence_s",
       FIELD(stream.endpoints.rules[E::kInitialSilence].min_silence_s),
       &C::endpoint_initial_silence_s, E::kMinSilenceS, E::kMaxSeconds, {}, "s",
       "Silence after which an utterance without speech begins anew.", kEndpointing, everybody,
       "endpoint_initial_silence"},
      {"endpoint_max_utterance_s", FIELD(stream.endpoints.rules[E::kLength].min_utterance_s),
       &C::endpoint_max_utterance_s, E::kMinUtteranceS, E::kMaxSeconds, {}, "s",
       "Time, silence included, after which an utterance ends in any case.", kEndpointing,
       everybody, "endpoint_max_utterance"},
      {"endpoint_blank_probability", FIELD(stream.endpoints.silence_blank_probability),
       &C::endpoint_blank_probability, E::kMinBlankProbability, 1, {}, "",
       "An encoder frame is silent when the model gives the blank at least this probability.",
       kEndpointing, everybody, "endpoint_blank"},
      {"reset_encoder", FIELD(stream.endpoints.reset_encoder), &C::reset_encoder, 0, 0, {}, "",
       "Begin an utterance without left context, as at the start of the audio.", kEndpointing,
       everybody, ""},
      {"skip_silence", FIELD(stream.endpoints.skip_silence), &C::skip_silence, 0, 0, {}, "",
       "After an utterance that ended in silence, compute nothing until the audio is louder than "
       "its background. Faster; speech that is hardly louder than noise is lost.",
       kEndpointing, everybody, ""},
      {"skip_silence_lead_s", FIELD(stream.endpoints.skip_silence_lead_s),
       &C::skip_silence_lead_s, 0.1, 10, {}, "s",
       "Audio before the sound that ends skipped silence, with which the next chunk begins.",
       {"skip_silence", "true"}, everybody, ""},
      {"early_text_interval", FIELD(stream.early_text.interval), &C::early_text_interval, 0,
       kMostFrames, {}, "encoder frames",
       "Tentative text of a live stream after each so much audio; 0: none.", kNothing,
       {User::kLive}, ""},
      {"early_text_padding", FIELD(stream.early_text.padding), &C::early_text_padding, 0,
       EarlyTextOptions::kMaxPadding, {}, "encoder frames",
       "Mean frames after the audio that tentative text is of.", {"early_text_interval", ""}, {},
       ""},
      {"hotwords", OptionFile{}, std::monostate(), 0, 0, {}, "",
       "Prefer these phrases: a file with one phrase per line, optionally with its score: 'PHRASE "
       ":1.5' (docs/hotwords.md). Selects beam search.",
       kBeam, everybody, ""},
      {"hotword_score", FIELD(hotword_score), std::monostate(),
       -static_cast<double>(Hotwords::kMaxScore), static_cast<double>(Hotwords::kMaxScore), {}, "",
       "Bonus per character of a phrase that has no score of its own.", {"hotwords", ""}, everybody,
       ""},
      {"language_model", OptionFile{}, std::monostate(), 0, 0, {}, "",
       "N-gram language model: ARPA text, or a file of compile_lm, which opens at once "
       "(docs/language_models.md). Selects beam search.",
       kBeam, flags, "lm"},
      {"language_model_level", Choice({"word", "token"}, FIELD(language_model.level)),
       &C::language_model_level, 0, 0, {}, "",
       "What the words of the language model are: words, or tokens of units.txt.",
       kLanguageModel, flags, "lm_level"},
      {"language_model_weight", FIELD(language_model.weight), &C::language_model_weight, 0,
       LanguageModelOptions::kMaxWeight, {}, "",
       "Factor of the log probability of the language model.", kLanguageModel, flags,
       "lm_weight"},
      {"language_model_bonus", FIELD(language_model.bonus), &C::language_model_bonus,
       -LanguageModelOptions::kMaxBonus, LanguageModelOptions::kMaxBonus, {}, "",
       "Added to the score, a natural logarithm, for each word of the language model.",
       kLanguageModel, flags, "lm_bonus"},
      {"show_special_tokens", FIELD(stream.show_special_tokens), &C::show_special_tokens, 0, 0, {},
       "", "Show tokens that are not text, such as <en-US> and <EOU>, in texts and words.",
       kNothing, flags, ""},
  };
  // clang-format on
}

#undef FIELD

// Whether what an option needs is there.
bool IsMet(const OptionNeed& needed, const ChosenOptions& options) {
  const StreamOption& option = StreamOptionOf(needed.name);
  if (option.is_file()) return options.Has(option.name);
  const OptionValue value = Get(option, options.values);
  if (needed.name == kBeam.name)
    return std::get<std::string>(value) != "greedy";  // any other is one
  if (needed.value == "true") return std::get<bool>(value);
  return std::get<int64_t>(value) > 0;
}

// Whether an option that was chosen asks for something: rescoring=false does not.
bool AsksForBeam(const StreamOption& option, const ChosenOptions& options) {
  if (option.needs.name != kBeam.name || !options.Has(option.name)) return false;
  return option.is_file() ||
         (option.name == "rescoring" && std::get<bool>(Get(option, options.values)));
}

void CheckNBest(const ChosenOptions& options) {
  const StreamOptions& stream = options.values.stream;
  const bool is_greedy = stream.search.method == SearchMethod::kGreedy;
  const int most = is_greedy ? 1 : stream.search.beam_size;
  if (stream.nbest <= most) return;
  throw OptionError(
      OptionName("nbest") + " is " + std::to_string(stream.nbest) + ", expected at most " +
      std::to_string(most) + " with " +
      (is_greedy ? OptionName("search", "greedy") : OptionName("beam_size", std::to_string(most))));
}

}  // namespace

const std::vector<StreamOption>& StreamOptionTable() {
  // Never destroyed: threads of a Recognizer may open streams while the process exits.
  static const auto* const table = new std::vector<StreamOption>(MakeStreamTable());
  return *table;
}

const StreamOption* FindStreamOption(std::string_view name) {
  return FindOption(StreamOptionTable(), name);
}

const StreamOption& StreamOptionOf(std::string_view name) {
  if (const StreamOption* option = FindStreamOption(name)) return *option;
  throw std::out_of_range("no stream option has the name " + std::string(name));
}

bool NeedsEndpointing(const StreamOption& option) {
  if (option.needs.name.empty()) return false;
  return option.needs.name == kEndpointing.name ||
         NeedsEndpointing(StreamOptionOf(option.needs.name));
}

// EndpointOptions::Validate has their ranges in C++.
constexpr std::string_view kWiderInCpp[] = {"endpoint_silence_s", "endpoint_initial_silence_s",
                                            "endpoint_max_utterance_s",
                                            "endpoint_blank_probability"};

bool IsWiderInCpp(const StreamOption& option) {
  return std::find(std::begin(kWiderInCpp), std::end(kWiderInCpp), option.name) !=
         std::end(kWiderInCpp);
}

void CheckRanges(const OptionValues& values) {
  for (const StreamOption& option : StreamOptionTable()) {
    if (option.is_file() || IsWiderInCpp(option)) continue;
    CheckRange(option, values);
  }
}

void ChosenOptions::Set(const StreamOption& option, const OptionValue& value) {
  runnel::Set(option, value, &values);
  names.insert(option.name);
}

void ChosenOptions::SetHotwords(std::shared_ptr<const Hotwords> hotwords) {
  if (hotwords == nullptr) return;
  values.stream.search.hotwords = std::move(hotwords);
  names.insert("hotwords");
}

void CompleteSearch(ChosenOptions* options) {
  const std::vector<StreamOption>& table = StreamOptionTable();
  SearchMethod& method = options->values.stream.search.method;
  if (!options->Has("search") && method == SearchMethod::kGreedy &&
      std::any_of(table.begin(), table.end(),
                  [&](const StreamOption& option) { return AsksForBeam(option, *options); })) {
    method = SearchMethod::kPrefixBeam;
  }
  for (const StreamOption& option : table) {
    if (!options->Has(option.name) || option.needs.name.empty()) continue;
    if (option.name == "rescoring" && !options->values.stream.search.rescoring.enabled) continue;
    // What it needs may need another one, which the caller has switched off.
    for (OptionNeed need = option.needs; !need.name.empty();
         need = StreamOptionOf(need.name).needs) {
      if (IsMet(need, *options)) continue;
      throw OptionError(OptionName(option.name) + " needs " +
                        OptionName(std::string(need.name), std::string(need.value)));
    }
  }
  CheckNBest(*options);
}

}  // namespace runnel
