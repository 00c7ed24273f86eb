#include "encoder/json/json_section.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "encoder/json/json_text.h"

namespace runnel {
namespace {

// An integer from min to max; none for any other value.
std::optional<int64_t> IntegerIn(const nlohmann::json& value, int64_t min, int64_t max) {
  if (!value.is_number_integer()) return std::nullopt;
  // A value beyond int64 wraps in get<int64_t>, and in comparisons of JSON values too.
  const bool fits_int64 = !value.is_number_unsigned() ||
                          value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
  const auto number = value.get<int64_t>();
  if (!fits_int64 || number < min || number > max) return std::nullopt;
  return number;
}

}  // namespace

JsonSection::JsonSection(const nlohmann::json& object, std::string name, std::string source)
    : object_(&object), name_(std::move(name)), source_(std::move(source)) {
  if (!object.is_object()) {
    throw std::runtime_error(source_ + ": " + (name_.empty() ? "the configuration" : name_) +
                             " is " + object.type_name() + ", expected an object");
  }
}

std::string JsonSection::Path(const std::string& field) const { return JsonPath(name_, field); }

const nlohmann::json& JsonSection::Take(const std::string& field) {
  const auto found = object_->find(field);
  if (found == object_->end()) {
    throw std::runtime_error(source_ + ": " + Path(field) + " is missing");
  }
  taken_.insert(field);
  return *found;
}

void JsonSection::Fail(const std::string& field, const std::string& expected) const {
  throw std::runtime_error(source_ + ": " + Path(field) + " is " + ShownJson(object_->at(field)) +
                           ", expected " + expected);
}

JsonSection JsonSection::Section(const std::string& field) {
  return JsonSection(Take(field), Path(field), source_);
}

std::vector<JsonSection> JsonSection::Sections(const std::string& field) {
  const nlohmann::json& list = Take(field);
  if (!list.is_array()) Fail(field, "a list of objects");
  std::vector<JsonSection> sections;
  for (size_t i = 0; i < list.size(); ++i) {
    sections.emplace_back(list[i], Path(field) + "." + std::to_string(i), source_);
  }
  return sections;
}

std::string JsonSection::String(const std::string& field) {
  const nlohmann::json& value = Take(field);
  if (!value.is_string()) Fail(field, "a string");
  return value.get<std::string>();
}

bool JsonSection::Bool(const std::string& field) {
  const nlohmann::json& value = Take(field);
  if (!value.is_boolean()) Fail(field, "true or false");
  return value.get<bool>();
}

double JsonSection::Number(const std::string& field) {
  const nlohmann::json& value = Take(field);
  if (!value.is_number()) Fail(field, "a number");
  return value.get<double>();
}

int64_t JsonSection::Integer(const std::string& field, int64_t min, int64_t max) {
  const std::optional<int64_t> number = IntegerIn(Take(field), min, max);
  if (!number) Fail(field, "an integer from " + std::to_string(min) + " to " + std::to_string(max));
  return *number;
}

int64_t JsonSection::IntegerFrom(const std::string& field, int64_t min, int64_t max) {
  const nlohmann::json& value = Take(field);
  if (const std::optional<int64_t> number = IntegerIn(value, min, max)) return *number;
  const bool is_above =
      value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(max);
  Fail(field, "an integer from " + std::to_string(min) +
                  (is_above ? " to " + std::to_string(max) : std::string()));
}

std::vector<std::string> JsonSection::Strings(const std::string& field) {
  const nlohmann::json& list = Take(field);
  if (!list.is_array()) Fail(field, "a list of strings");
  std::vector<std::string> strings;
  for (const nlohmann::json& value : list) {
    if (!value.is_string()) Fail(field, "a list of strings");
    strings.push_back(value.get<std::string>());
  }
  return strings;
}

std::vector<int64_t> JsonSection::Integers(const std::string& field, int64_t min, int64_t max) {
  const nlohmann::json& list = Take(field);
  const std::string expected =
      "a list of integers from " + std::to_string(min) + " to " + std::to_string(max);
  if (!list.is_array()) Fail(field, expected);
  std::vector<int64_t> numbers;
  for (const nlohmann::json& value : list) {
    const std::optional<int64_t> number = IntegerIn(value, min, max);
    if (!number) Fail(field, expected);
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<int64_t> JsonSection::OptionalInteger(const std::string& field, int64_t min,
                                                    int64_t max) {
  if (Take(field).is_null()) return std::nullopt;
  return Integer(field, min, max);
}

void JsonSection::Constant(const std::string& field, const std::string& only) {
  if (String(field) != only) Fail(field, "\"" + only + "\"");
}

bool JsonSection::Has(const std::string& field) const { return object_->contains(field); }

bool JsonSection::IsBool(const std::string& field) const { return object_->at(field).is_boolean(); }

bool JsonSection::IsNumber(const std::string& field) const {
  return object_->at(field).is_number();
}

bool JsonSection::IsString(const std::string& field) const {
  return object_->at(field).is_string();
}

bool JsonSection::IsObject(const std::string& field) const {
  return object_->at(field).is_object();
}

bool JsonSection::IsNull(const std::string& field) {
  const auto found = object_->find(field);
  if (found == object_->end() || !found->is_null()) return false;
  taken_.insert(field);
  return true;
}

void JsonSection::CheckAllTaken() const {
  for (const auto& item : object_->items()) {
    if (taken_.count(item.key()) == 0) {
      throw std::runtime_error(source_ + ": " + Path(item.key()) +
                               " is a field this version does not know");
    }
  }
}

}  // namespace runnel
