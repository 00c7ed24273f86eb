#include "runtime/c_api/options.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/text/require_range.h"

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
static_assert(RUNNEL_NO_RIGHT_CONTEXT == StreamOptions::kNoRightContext);
static_assert(RUNNEL_FLOAT32 == static_cast<int>(Precision::kFloat32));
static_assert(RUNNEL_BFLOAT16 == static_cast<int>(Precision::kBfloat16));
static_assert(RUNNEL_INT8 == static_cast<int>(Precision::kInt8));
static_assert(RUNNEL_FLOAT64 == static_cast<int>(Precision::kFloat64));
static_assert(RUNNEL_PRECISION_DEFAULT == static_cast<int>(Precision::kDefault));
static_assert(RUNNEL_INT4 == static_cast<int>(Precision::kInt4));
static_assert(RUNNEL_BACKEND_DEFAULT == static_cast<int>(Backend::kDefault));
static_assert(RUNNEL_BACKEND_CPU == static_cast<int>(Backend::kCpu));
static_assert(RUNNEL_BACKEND_LIBTORCH == static_cast<int>(Backend::kLibTorch));

// Calls visit(option, pointer to C's field) for each option of the table that has a field in C.
template <typename Row, typename Visit>
void VisitFields(const std::vector<Row>& table, const Visit& visit) {
  for (const Row& option : table) {
    std::visit(
        [&](const auto& field) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(field)>, std::monostate>) {
            visit(option, field);
          }
        },
        option.c_field);
  }
}

template <typename Row>
void ToC(const Row& option, const OptionValue& value, int32_t* c) {
  if (const auto* truth = std::get_if<bool>(&value)) {
    *c = *truth ? 1 : 0;
  } else if (const auto* name = std::get_if<std::string>(&value)) {
    *c = std::get<typename Row::Choice>(option.field).NumberOf(*name);
  } else {
    *c = static_cast<int32_t>(std::get<int64_t>(value));
  }
}
template <typename Row>
void ToC(const Row& /*option*/, const OptionValue& value, int64_t* c) {
  *c = std::get<int64_t>(value);
}
template <typename Row>
void ToC(const Row& /*option*/, const OptionValue& value, double* c) {
  *c = std::get<double>(value);
}
template <typename Row>
void ToC(const Row& /*option*/, const OptionValue& /*value*/, const char** c) {
  *c = nullptr;  // the model's, or no file
}

template <typename Row>
OptionValue FromC(const Row& option, int32_t c) {
  if (std::holds_alternative<typename Row::template Field<bool>>(option.field)) {
    if (c != 0 && c != 1) FailAsOutOfRange(option.name, int64_t{c}, "0 or 1");
    return c == 1;
  }
  const auto* const choice = std::get_if<typename Row::Choice>(&option.field);
  if (choice == nullptr) return int64_t{c};
  const auto most = static_cast<int32_t>(choice->names.size()) - 1;
  if (c < 0 || c > most) FailAsOutOfRange(option.name, int64_t{c}, RangeText(0, most));
  return choice->names[static_cast<size_t>(c)];
}
template <typename Row>
OptionValue FromC(const Row& /*option*/, int64_t c) {
  return c;
}
template <typename Row>
OptionValue FromC(const Row& /*option*/, double c) {
  return c;
}
template <typename Row>
OptionValue FromC(const Row& /*option*/, const char* c) {
  return std::string(c == nullptr ? "" : c);
}

template <typename Row>
typename Row::CValues Defaults(const std::vector<Row>& table) {
  typename Row::CValues c = {};
  c.struct_size = sizeof c;
  const typename Row::Values defaults;
  VisitFields(table, [&](const Row& option, const auto field) {
    ToC(option, Get(option, defaults), &(c.*field));
  });
  return c;
}

template <typename Row>
typename Row::Values Values(const std::vector<Row>& table, const typename Row::CValues& c) {
  typename Row::Values values;
  VisitFields(table, [&](const Row& option, const auto field) {
    Set(option, FromC(option, c.*field), &values);
  });
  return values;
}

}  // namespace

runnel_model_options ModelDefaults() { return Defaults(ModelOptionTable()); }
runnel_stream_options StreamDefaults() { return Defaults(StreamOptionTable()); }

ModelOptions ValuesOf(const runnel_model_options& c) { return Values(ModelOptionTable(), c); }
OptionValues ValuesOf(const runnel_stream_options& c) { return Values(StreamOptionTable(), c); }

}  // namespace runnel::c_api
