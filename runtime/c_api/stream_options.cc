#include "runtime/c_api/stream_options.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "runtime/options/option_error.h"

namespace runnel::c_api {
namespace {

// C's enumerations are the numbers of the names.
static_assert(RUNNEL_GREEDY == static_cast<int>(SearchMethod::kGreedy));
static_assert(RUNNEL_PREFIX_BEAM == static_cast<int>(SearchMethod::kPrefixBeam));
static_assert(RUNNEL_MODIFIED_BEAM == static_cast<int>(SearchMethod::kModifiedBeam));
static_assert(RUNNEL_HEAD_DEFAULT == static_cast<int>(Head::kDefault));
static_assert(RUNNEL_HEAD_CTC == static_cast<int>(Head::kCtc));
static_assert(RUNNEL_HEAD_TRANSDUCER == static_cast<int>(Head::kTransducer));
static_assert(RUNNEL_WORD_LEVEL == static_cast<int>(LanguageModelLevel::kWord));
static_assert(RUNNEL_TOKEN_LEVEL == static_cast<int>(LanguageModelLevel::kToken));
static_assert(RUNNEL_MODEL_DEFAULT == StreamOptions::kModelDefault);
static_assert(RUNNEL_WHOLE_UTTERANCE == StreamOptions::kWholeUtterance);
static_assert(RUNNEL_UNLIMITED == StreamOptions::kUnlimited);

// Calls visit(option, pointer to C's field) for each option that has a field in C.
template <typename Visit>
void VisitFields(const Visit& visit) {
  for (const StreamOption& option : StreamOptionTable()) {
    std::visit(
        [&](const auto& field) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(field)>, std::monostate>) {
            visit(option, field);
          }
        },
        option.c_field);
  }
}

void ToC(const StreamOption& option, const OptionValue& value, int32_t* c) {
  if (const auto* truth = std::get_if<bool>(&value)) {
    *c = *truth ? 1 : 0;
  } else if (const auto* name = std::get_if<std::string>(&value)) {
    *c = std::get<OptionChoice>(option.field).NumberOf(*name);
  } else {
    *c = static_cast<int32_t>(std::get<int64_t>(value));
  }
}
void ToC(const StreamOption& /*option*/, const OptionValue& value, int64_t* c) {
  *c = std::get<int64_t>(value);
}
void ToC(const StreamOption& /*option*/, const OptionValue& value, double* c) {
  *c = std::get<double>(value);
}
void ToC(const StreamOption& /*option*/, const OptionValue& /*value*/, const char** c) {
  *c = nullptr;  // the model's
}

[[noreturn]] void Fail(const StreamOption& option, int32_t number, const std::string& expected) {
  throw OptionError(OptionName(option.name) + " is " + std::to_string(number) + ", expected " +
                    expected);
}

OptionValue FromC(const StreamOption& option, int32_t c) {
  if (std::holds_alternative<OptionField<bool>>(option.field)) {
    if (c != 0 && c != 1) Fail(option, c, "0 or 1");
    return c == 1;
  }
  const auto* const choice = std::get_if<OptionChoice>(&option.field);
  if (choice == nullptr) return int64_t{c};
  const auto most = static_cast<int32_t>(choice->names.size()) - 1;
  if (c < 0 || c > most) Fail(option, c, "0 to " + std::to_string(most));
  return choice->names[static_cast<size_t>(c)];
}
OptionValue FromC(const StreamOption& /*option*/, int64_t c) { return c; }
OptionValue FromC(const StreamOption& /*option*/, double c) { return c; }
OptionValue FromC(const StreamOption& /*option*/, const char* c) {
  return std::string(c == nullptr ? "" : c);
}

}  // namespace

runnel_stream_options StreamDefaults() {
  runnel_stream_options c = {};
  c.struct_size = sizeof c;
  const OptionValues defaults;
  VisitFields([&](const StreamOption& option, const auto field) {
    ToC(option, Get(option, defaults), &(c.*field));
  });
  return c;
}

OptionValues ValuesOf(const runnel_stream_options& c) {
  OptionValues values;
  VisitFields([&](const StreamOption& option, const auto field) {
    Set(option, FromC(option, c.*field), &values);
  });
  return values;
}

}  // namespace runnel::c_api
