#include "tools/server/protocol/start_options.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "runtime/hotwords.h"
#include "runtime/options/option_error.h"
#include "runtime/options/stream_options.h"
#include "runtime/text/printable.h"
#include "tools/cli/decimal.h"
#include "tools/server/protocol/message_text.h"

namespace runnel::server {
namespace {

// Before the names of the fields of the object "endpointing" where they stand in a query.
constexpr std::string_view kEndpointPrefix = "endpoint_";
// The library's message repeats the name of a language that the model does not know.
constexpr size_t kMaxLanguageBytes = 64;

bool IsText(const StreamOption& option) {
  return option.is_file() || std::holds_alternative<OptionField<std::string>>(option.field);
}

// Whether an option is a field of the object "endpointing".
bool IsField(const StreamOption& option) {
  return option.IsOf(OptionUser::kClient) && NeedsEndpointing(option);
}

// The name in the object "endpointing".
std::string NameInSection(const StreamOption& option) {
  return option.name.compare(0, kEndpointPrefix.size(), kEndpointPrefix) == 0
             ? option.name.substr(kEndpointPrefix.size())
             : option.name;
}

// The option that a field of a query is of; null: none.
const StreamOption* OptionOfQuery(const std::string& name) {
  for (const StreamOption& option : StreamOptionTable()) {
    if (!option.IsOf(OptionUser::kClient)) continue;
    if (option.name == name) return &option;
    const bool is_former = option.name == "reset_encoder" || option.name == "skip_silence";
    if (is_former && std::string(kEndpointPrefix) + option.name == name) return &option;
  }
  return nullptr;
}

// The values of a query have no types: a number is a number, true and false are true and false,
// everything else is a string. A list of hotwords may be "911".
nlohmann::json TypedValue(const StreamOption& option, const std::string& text) {
  if (IsText(option)) return ValidText(text);
  nlohmann::json value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value.is_number() || value.is_boolean() ? value : nlohmann::json(ValidText(text));
}

std::string QueryFieldNames() {
  std::string names;
  for (const StreamOption& option : StreamOptionTable()) {
    if (option.IsOf(OptionUser::kClient) && !NeedsEndpointing(option)) names += option.name + ", ";
  }
  return names + "token, or one of those that need endpointing";
}

int64_t ReadInteger(JsonSection* fields, const std::string& field, const StreamOption& option) {
  using Range = std::numeric_limits<int64_t>;
  try {
    return fields->Integer(field, Range::min(), Range::max());
  } catch (const std::runtime_error&) {
    fields->Fail(field, "an integer, " + option.Expected());
  }
}

OptionValue ReadValue(JsonSection* fields, const std::string& field, const StreamOption& option) {
  return std::visit(
      [&](const auto& kind) -> OptionValue {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, OptionField<bool>>) {
          return fields->Bool(field);
        } else if constexpr (std::is_same_v<Kind, OptionField<double>>) {
          return fields->Number(field);
        } else if constexpr (std::is_same_v<Kind, OptionField<int>> ||
                             std::is_same_v<Kind, OptionField<int64_t>>) {
          return ReadInteger(fields, field, option);
        } else {
          return fields->String(field);
        }
      },
      option.field);
}

// Reads a field that may be there.
void ReadOption(JsonSection* fields, const std::string& field, const StreamOption& option,
                ChosenOptions* options) {
  if (!fields->Has(field)) return;
  const OptionValue value = ReadValue(fields, field, option);
  try {
    options->Set(option, value);
  } catch (const OptionError&) {
    fields->Fail(field, option.Expected());
  }
}

void ReadHotwords(JsonSection* fields, const TokenTable& tokens, ChosenOptions* options) {
  if (!fields->Has("hotwords")) return;
  const std::string list = fields->String("hotwords");
  options->SetHotwords(std::make_shared<const Hotwords>(
      list, tokens, static_cast<float>(options->values.hotword_score), "hotwords"));
}

// Refuses the name that an option of the object "endpointing" has in a query.
void RefuseNameOfQuery(const JsonSection& fields, const StreamOption& option) {
  if (!fields.Has(option.name)) return;
  fields.Fail(option.name, "endpointing." + NameInSection(option) + " instead");
}

void ReadEndpointing(JsonSection* fields, ChosenOptions* options) {
  for (const StreamOption& option : StreamOptionTable()) {
    if (IsField(option)) RefuseNameOfQuery(*fields, option);
  }
  if (!fields->Has("endpointing")) return;
  if (!fields->IsObject("endpointing")) {
    if (!fields->IsBool("endpointing")) fields->Fail("endpointing", "true, false or an object");
    options->Set("endpointing", fields->Bool("endpointing"));
    return;
  }
  JsonSection section = fields->Section("endpointing");
  options->Set("endpointing", true);
  for (const StreamOption& option : StreamOptionTable()) {
    if (!IsField(option)) continue;
    const std::string name = NameInSection(option);
    if (name != option.name) RefuseNameOfQuery(section, option);
    ReadOption(&section, name, option, options);
  }
  section.CheckAllTaken();
}

void ReadOptions(JsonSection* fields, const TokenTable& tokens, StartRequest* start) {
  for (const StreamOption& option : StreamOptionTable()) {
    if (!option.IsOf(OptionUser::kClient) || option.is_file()) continue;
    if (option.name == "endpointing" || NeedsEndpointing(option)) continue;
    ReadOption(fields, option.name, option, &start->options);
  }
  if (start->options.values.stream.language.size() > kMaxLanguageBytes) {
    fields->Fail("language", "at most " + std::to_string(kMaxLanguageBytes) + " bytes");
  }
  ReadHotwords(fields, tokens, &start->options);
}

}  // namespace

int ReadNBest(JsonSection* fields) {
  ChosenOptions options;
  ReadOption(fields, "nbest", StreamOptionOf("nbest"), &options);
  return options.Has("nbest") ? options.values.stream.nbest : 0;
}

void ReadStartOptions(JsonSection* fields, const TokenTable& tokens, StartRequest* start) {
  ReadOptions(fields, tokens, start);
  ReadEndpointing(fields, &start->options);
}

void ReadLiveOptions(JsonSection* fields, ChosenOptions* options) {
  const std::pair<const char*, const char*> former[] = {{"early_text", "early_text_interval"},
                                                        {"sample_rate", "sample_rate_hz"}};
  for (const auto& [field, name] : former) {
    if (fields->Has(field) && fields->Has(name)) fields->Fail(field, std::string("only ") + name);
    ReadOption(fields, field, StreamOptionOf(name), options);
  }
  for (const StreamOption& option : StreamOptionTable()) {
    if (option.IsOf(OptionUser::kLive)) ReadOption(fields, option.name, option, options);
  }
}

StartRequest ReadStartQuery(const std::vector<std::pair<std::string, std::string>>& query,
                            const TokenTable& tokens) {
  nlohmann::json object = nlohmann::json::object();
  std::map<const StreamOption*, std::string> given;  // the name that the query has for each
  for (const auto& [name, value] : query) {
    if (name == "token") continue;
    const StreamOption* const option = OptionOfQuery(name);
    if (option == nullptr) {
      throw std::runtime_error("query: " + Quoted(name) +
                               " is no option of a recording, expected " + QueryFieldNames());
    }
    if (!given.emplace(option, name).second) {
      throw std::runtime_error("query: " + Quoted(name) + " cannot be given twice");
    }
    object[name] = TypedValue(*option, value);
  }
  JsonSection fields(object, "", "query");
  StartRequest start;
  ReadOptions(&fields, tokens, &start);
  for (const auto& [option, name] : given) {
    if (option->name != "endpointing" && !NeedsEndpointing(*option)) continue;
    ReadOption(&fields, name, *option, &start.options);
  }
  fields.CheckAllTaken();
  return start;
}

OrderedJson EndpointingAsJson(const EndpointOptions& options) {
  if (!options.enabled) return false;
  OptionValues values;
  values.stream.endpoints = options;
  OrderedJson object;
  for (const StreamOption& option : StreamOptionTable()) {
    if (!IsField(option)) continue;
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, double>) {
            object[NameInSection(option)] = Rounded(value);
          } else {
            object[NameInSection(option)] = value;
          }
        },
        Get(option, values));
  }
  return object;
}

}  // namespace runnel::server
