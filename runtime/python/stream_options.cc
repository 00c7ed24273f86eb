#include "runtime/python/stream_options.h"

#include <pybind11/stl.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/python/arguments.h"
#include "runtime/python/gil.h"
#include "runtime/python/search_files.h"

namespace py = pybind11;

namespace runnel::python {
namespace {

// What the keyword arguments say.
struct Arguments {
  std::set<std::string> given;  // the names, without those that are None
  StreamOptions stream;
  LanguageModelOptions language_model;  // without the model itself
  float hotword_score = Hotwords::kDefaultScore;
  // Read last, with the values above.
  py::object word_list;
  py::object hotwords;
  py::object language_model_source;
};

using Setter = std::function<void(const std::string& name, const py::handle& value, Arguments*)>;

// Sets the field that `locate` returns.
template <typename Locate>
Setter Field(const Locate& locate) {
  using Value = std::remove_reference_t<std::invoke_result_t<Locate, Arguments&>>;
  return [locate](const std::string& name, const py::handle& value, Arguments* all) {
    if constexpr (std::is_same_v<Value, py::object>) {
      locate(*all) = py::reinterpret_borrow<py::object>(value);
    } else {
      locate(*all) = ValueOf<Value>(name, value);
    }
  };
}

// Sets the field that `locate` returns to the value of a name.
template <typename Value, typename Locate>
Setter Choice(const std::map<std::string, Value>& choices, const Locate& locate) {
  return [choices, locate](const std::string& name, const py::handle& value, Arguments* all) {
    const auto given = ValueOf<std::string>(name, value);
    const auto found = choices.find(given);
    if (found == choices.end()) {
      std::string expected;
      for (const auto& choice : choices) {
        expected += (expected.empty() ? "'" : ", '") + choice.first + "'";
      }
      throw py::value_error(name + " is '" + given + "', expected one of " + expected);
    }
    locate(*all) = found->second;
  };
}

EndpointRule& Rule(Arguments& all, size_t index) { return all.stream.endpoints.rules[index]; }

std::map<std::string, Setter> MakeSetters() {
  using A = Arguments;
  using E = EndpointOptions;
  const std::map<std::string, SearchMethod> searches = {
      {"greedy", SearchMethod::kGreedy},
      {"beam", SearchMethod::kPrefixBeam},
      {"modified_beam", SearchMethod::kModifiedBeam}};
  const std::map<std::string, Head> heads = {{"ctc", Head::kCtc},
                                             {"transducer", Head::kTransducer}};
  const std::map<std::string, LanguageModelLevel> levels = {{"word", LanguageModelLevel::kWord},
                                                            {"token", LanguageModelLevel::kToken}};
  return {
      {"chunk_size", Field([](A & a) -> auto& { return a.stream.chunk_size; })},
      {"left_context", Field([](A & a) -> auto& { return a.stream.left_context; })},
      {"sample_rate_hz", Field([](A & a) -> auto& { return a.stream.sample_rate_hz; })},
      {"language", Field([](A & a) -> auto& { return a.stream.language; })},
      {"nbest", Field([](A & a) -> auto& { return a.stream.nbest; })},
      {"search", Choice(
                     searches, [](A & a) -> auto& { return a.stream.search.method; })},
      {"head", Choice(
                   heads, [](A & a) -> auto& { return a.stream.search.head; })},
      {"beam_size", Field([](A & a) -> auto& { return a.stream.search.beam_size; })},
      {"token_beam", Field([](A & a) -> auto& { return a.stream.search.token_beam; })},
      {"max_symbols", Field([](A & a) -> auto& { return a.stream.search.max_symbols; })},
      {"ctc_weight", Field([](A & a) -> auto& { return a.stream.search.ctc_weight; })},
      {"rescoring", Field([](A & a) -> auto& { return a.stream.search.rescoring.enabled; })},
      {"first_pass_weight",
       Field([](A & a) -> auto& { return a.stream.search.rescoring.first_pass_weight; })},
      {"reverse_weight",
       Field([](A & a) -> auto& { return a.stream.search.rescoring.reverse_weight; })},
      {"word_list", Field([](A & a) -> auto& { return a.word_list; })},
      {"hotwords", Field([](A & a) -> auto& { return a.hotwords; })},
      {"hotword_score", Field([](A & a) -> auto& { return a.hotword_score; })},
      {"language_model", Field([](A & a) -> auto& { return a.language_model_source; })},
      {"language_model_level", Choice(
                                   levels, [](A & a) -> auto& { return a.language_model.level; })},
      {"language_model_weight", Field([](A & a) -> auto& { return a.language_model.weight; })},
      {"language_model_bonus", Field([](A & a) -> auto& { return a.language_model.bonus; })},
      {"endpointing", Field([](A & a) -> auto& { return a.stream.endpoints.enabled; })},
      {"reset_encoder", Field([](A & a) -> auto& { return a.stream.endpoints.reset_encoder; })},
      {"skip_silence", Field([](A & a) -> auto& { return a.stream.endpoints.skip_silence; })},
      {"endpoint_silence_s",
       Field([](A & a) -> auto& { return Rule(a, E::kSilence).min_silence_s; })},
      {"endpoint_initial_silence_s",
       Field([](A & a) -> auto& { return Rule(a, E::kInitialSilence).min_silence_s; })},
      {"endpoint_max_utterance_s",
       Field([](A & a) -> auto& { return Rule(a, E::kLength).min_utterance_s; })},
      {"endpoint_blank_probability",
       Field([](A & a) -> auto& { return a.stream.endpoints.silence_blank_probability; })},
      {"early_text_interval", Field([](A & a) -> auto& { return a.stream.early_text.interval; })},
      {"early_text_padding", Field([](A & a) -> auto& { return a.stream.early_text.padding; })},
  };
}

Arguments Read(const py::kwargs& keywords) {
  static const std::map<std::string, Setter> setters = MakeSetters();
  Arguments all;
  for (const auto& [key, value] : keywords) {
    const auto name = py::cast<std::string>(key);
    const auto setter = setters.find(name);
    if (setter == setters.end()) {
      throw py::type_error("'" + name + "' is not an option, expected one of StreamOptions");
    }
    if (value.is_none()) continue;
    setter->second(name, value, &all);
    all.given.insert(name);
  }
  return all;
}

// Refuses options that have no effect, as decode_wav does.
void CheckEffects(const Arguments& all, const StreamOptions& options) {
  const SearchOptions& search = options.search;
  const bool is_greedy = search.method == SearchMethod::kGreedy;
  const bool reads_hotwords = all.hotwords && !py::isinstance<Hotwords>(all.hotwords);
  struct Group {
    bool has_effect;
    const char* needed;
    std::vector<const char*> options;
  };
  const Group groups[] = {
      {options.endpoints.enabled,
       "endpointing=True",
       {"endpoint_silence_s", "endpoint_initial_silence_s", "endpoint_max_utterance_s",
        "endpoint_blank_probability", "reset_encoder", "skip_silence"}},
      {search.rescoring.enabled, "rescoring=True", {"first_pass_weight", "reverse_weight"}},
      {reads_hotwords, "hotwords as a path or a list", {"hotword_score"}},
      {search.language_model != nullptr,
       "language_model",
       {"language_model_level", "language_model_weight", "language_model_bonus"}},
      {!is_greedy, "search='beam'", {"beam_size", "token_beam"}},
      {options.early_text.interval > 0, "early_text_interval", {"early_text_padding"}}};
  for (const Group& group : groups) {
    for (const char* option : group.options) {
      if (!group.has_effect && all.given.count(option) > 0) {
        throw py::value_error(std::string(option) + " needs " + group.needed);
      }
    }
  }
  const int most = is_greedy ? 1 : search.beam_size;
  if (search.beam_size >= 1 && options.nbest > most) {
    throw py::value_error("nbest is " + std::to_string(options.nbest) + ", expected at most " +
                          std::to_string(most) +
                          (is_greedy ? " with search='greedy'" : " with this beam_size"));
  }
}

}  // namespace

StreamOptions StreamOptionsFrom(const std::shared_ptr<Model>& model, const py::kwargs& keywords) {
  const Arguments all = Read(keywords);
  StreamOptions options = all.stream;
  SearchOptions& search = options.search;
  if (all.word_list) search.word_list = ReadWordList(all.word_list, *model);
  if (all.hotwords) search.hotwords = ReadHotwords(all.hotwords, *model, all.hotword_score);
  if (all.language_model_source) {
    const auto shared = ReadLanguageModel(all.language_model_source);
    LanguageModelOptions language_model = all.language_model;
    language_model.model = shared->model;
    const ReleasedGil released;
    search.language_model = shared->scorers.Get(language_model, model);
  }
  const bool needs_beam = search.word_list != nullptr || search.hotwords != nullptr ||
                          search.language_model != nullptr || search.rescoring.enabled;
  if (needs_beam && all.given.count("search") == 0) search.method = SearchMethod::kPrefixBeam;
  CheckEffects(all, options);
  return options;
}

RestoreOptions RestoreOptionsFrom(const std::shared_ptr<Model>& model, const py::object& word_list,
                                  const py::object& language_model, const py::object& nbest) {
  RestoreOptions options;
  if (!word_list.is_none()) options.word_list = ReadWordList(word_list, *model);
  if (!language_model.is_none()) options.language_model = ReadLanguageModel(language_model)->model;
  options.nbest = ValueOf<int>("nbest", nbest);
  return options;
}

std::string SnapshotBytes(const py::object& snapshot) {
  if (!py::isinstance<py::bytes>(snapshot)) {
    throw py::type_error(std::string("snapshot: expected bytes, got ") +
                         Py_TYPE(snapshot.ptr())->tp_name);
  }
  return snapshot.cast<std::string>();
}

}  // namespace runnel::python
