#include "tools/server/protocol/start_options.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "runtime/hotwords.h"
#include "runtime/text/printable.h"
#include "tools/cli/decimal.h"
#include "tools/server/protocol/endpointing_option.h"
#include "tools/server/protocol/message_text.h"

namespace runnel::server {
namespace {

constexpr int64_t kMaxFrames = 1000000;  // encoder frames: eleven hours of audio

// The fields that a query may have. The sample rate, for example, is in the recording.
constexpr std::array<std::string_view, 16> kQueryFields = {
    "chunk_size",     "left_context", "search",     "beam_size",     "nbest",
    "head",           "max_symbols",  "ctc_weight", "rescoring",     "first_pass_weight",
    "reverse_weight", "language",     "hotwords",   "hotword_score", "endpointing",
    "token"};
// Their values are strings, also those that look like numbers: a list of hotwords may be "911".
constexpr std::array<std::string_view, 2> kTextFields = {"hotwords", "language"};
// The names of the fields of the object "endpointing" have it before them.
constexpr std::string_view kEndpointPrefix = "endpoint_";
// The library's message repeats the name of a language that the model does not know.
constexpr size_t kMaxLanguageBytes = 64;

// An integer that a limit of the server bounds: its message, not this, says what is too large.
int ReadLimited(JsonSection* fields, const std::string& field, int min) {
  return static_cast<int>(fields->IntegerFrom(field, min, std::numeric_limits<int>::max()));
}

// The value of chunk_size or left_context, in encoder frames: -1 for all, or at least `min`.
int64_t ReadFrames(JsonSection* fields, const std::string& field, int64_t min) {
  if (!fields->Has(field)) return StreamOptions::kModelDefault;
  const int64_t frames = fields->IntegerFrom(field, -1, kMaxFrames);
  if (frames != -1 && frames < min) {
    fields->Fail(field, "-1 (all) or an integer from " + std::to_string(min));
  }
  return frames;
}

template <size_t count>
bool Contains(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The values of a query have no types: a number is a number, true and false are true and false,
// everything else is a string.
nlohmann::json TypedValue(const std::string& key, const std::string& text) {
  if (Contains(kTextFields, key)) return ValidText(text);
  nlohmann::json value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_number() || value.is_boolean() ? value : nlohmann::json(ValidText(text));
}

void AddOnce(const std::string& name, const std::string& value, nlohmann::json* object) {
  if (object->contains(name)) {
    throw std::runtime_error("query: " + Quoted(name) + " cannot be given twice");
  }
  (*object)[name] = TypedValue(name, value);
}

std::string QueryFieldNames() {
  std::string names;
  for (const std::string_view field : kQueryFields) names += std::string(field) + ", ";
  return names + "or endpoint_...";
}

bool IsEndpointField(std::string_view name) {
  return name.substr(0, kEndpointPrefix.size()) == kEndpointPrefix;
}

double ReadReal(JsonSection* fields, const std::string& field, double min, double max) {
  const double value = fields->Number(field);
  if (!(value >= min && value <= max)) {
    fields->Fail(field, "a number from " + Decimal(min, 0) + " to " + Decimal(max, 0));
  }
  return value;
}

// The names of all `values`.
template <typename Value>
std::map<std::string, Value> ByName(std::initializer_list<Value> values) {
  std::map<std::string, Value> names;
  for (const Value value : values) names[NameOf(value)] = value;
  return names;
}

void ReadRescoring(JsonSection* fields, std::optional<RescoringOptions>* rescoring) {
  if (fields->Has("rescoring")) rescoring->emplace().enabled = fields->Bool("rescoring");
  const auto read_weight = [&](const std::string& field, double max,
                               double RescoringOptions::*weight) {
    if (!fields->Has(field)) return;
    const double value = ReadReal(fields, field, 0, max);
    if (!rescoring->has_value() || !(*rescoring)->enabled) {
      fields->Fail(field, "rescoring with it");
    }
    (**rescoring).*weight = value;
  };
  read_weight("first_pass_weight", RescoringOptions::kMaxWeight,
              &RescoringOptions::first_pass_weight);
  read_weight("reverse_weight", 1, &RescoringOptions::reverse_weight);
}

void ReadModelChoices(JsonSection* fields, ModelChoices* choices) {
  if (fields->Has("head")) {
    choices->head = fields->Choice("head", ByName({Head::kCtc, Head::kTransducer}));
  }
  if (fields->Has("max_symbols")) {
    choices->max_symbols = ReadLimited(fields, "max_symbols", 0);
  }
  if (fields->Has("ctc_weight")) choices->ctc_weight = ReadReal(fields, "ctc_weight", 0, 1);
  ReadRescoring(fields, &choices->rescoring);
  if (fields->Has("language")) {
    choices->language = fields->String("language");
    if (choices->language->size() > kMaxLanguageBytes) {
      fields->Fail("language", "at most " + std::to_string(kMaxLanguageBytes) + " bytes");
    }
  }
}

void ReadHotwords(JsonSection* fields, const TokenTable& tokens, StartRequest* start) {
  double score = static_cast<double>(Hotwords::kDefaultScore);
  const bool has_score = fields->Has("hotword_score");
  if (has_score) {
    constexpr double kMost = static_cast<double>(Hotwords::kMaxScore);
    score = ReadReal(fields, "hotword_score", -kMost, kMost);
  }
  if (!fields->Has("hotwords")) {
    if (has_score) fields->Fail("hotword_score", "hotwords with it");
    return;
  }
  const std::string list = fields->String("hotwords");
  SearchOptions& search = start->options.search;
  if (start->names_search && search.method == SearchMethod::kGreedy) {
    fields->Fail("search", "beam with hotwords");
  }
  start->needs_beam = true;
  search.hotwords =
      std::make_shared<const Hotwords>(list, tokens, static_cast<float>(score), "hotwords");
}

}  // namespace

const char* NameOf(SearchMethod method) {
  switch (method) {
    case SearchMethod::kGreedy:
      return "greedy";
    case SearchMethod::kPrefixBeam:
      return "beam";
    case SearchMethod::kModifiedBeam:
      return "modified_beam";
  }
  throw std::invalid_argument("a search method without a name");
}

const char* NameOf(Head head) { return head == Head::kCtc ? "ctc" : "transducer"; }

int ReadNBest(JsonSection* fields) {
  if (!fields->Has("nbest")) return 0;
  return ReadLimited(fields, "nbest", 1);
}

void ReadStartOptions(JsonSection* fields, const TokenTable& tokens, StartRequest* start) {
  if (const int nbest = ReadNBest(fields); nbest > 0) start->options.nbest = nbest;
  start->options.chunk_size = ReadFrames(fields, "chunk_size", 1);
  start->options.left_context = ReadFrames(fields, "left_context", 0);
  SearchOptions& search = start->options.search;
  start->names_search = fields->Has("search");
  if (start->names_search) {
    search.method = fields->Choice(
        "search",
        ByName({SearchMethod::kGreedy, SearchMethod::kPrefixBeam, SearchMethod::kModifiedBeam}));
  }
  start->names_beam_size = fields->Has("beam_size");
  if (start->names_beam_size) {
    search.beam_size = ReadLimited(fields, "beam_size", 1);
  }
  ReadModelChoices(fields, &start->choices);
  ReadHotwords(fields, tokens, start);
  ReadEndpointing(fields, &start->options.endpoints);
}

StartRequest ReadStartQuery(const std::vector<std::pair<std::string, std::string>>& query,
                            const TokenTable& tokens) {
  nlohmann::json object = nlohmann::json::object();
  bool has_rules = false;
  for (const auto& [name, value] : query) {
    const bool is_rule = IsEndpointField(name);
    has_rules = has_rules || is_rule;
    if (!is_rule && !Contains(kQueryFields, name)) {
      throw std::runtime_error("query: " + Quoted(name) +
                               " is no option of a recording, expected " + QueryFieldNames());
    }
    if (name != "token") AddOnce(name, value, &object);
  }
  JsonSection fields(object, "", "query");
  if (fields.Has("endpointing") && !fields.IsBool("endpointing")) {
    fields.Fail("endpointing", "true or false");
  }
  StartRequest start;
  ReadStartOptions(&fields, tokens, &start);
  if (has_rules) {
    EndpointOptions& endpoints = start.options.endpoints;
    if (fields.Has("endpointing") && !endpoints.enabled) {
      throw std::runtime_error("query: fields endpoint_... need endpointing=true");
    }
    endpoints.enabled = true;
    ReadEndpointRules(&fields, std::string(kEndpointPrefix), &endpoints);
  }
  fields.CheckAllTaken();
  return start;
}

}  // namespace runnel::server
