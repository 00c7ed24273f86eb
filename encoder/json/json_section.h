// Reads one JSON object strictly: every field is taken once, by name and type, and no field is left
// over. For the sections of runnel.json and for messages of the server's clients.
#ifndef RUNNEL_ENCODER_JSON_JSON_SECTION_H_
#define RUNNEL_ENCODER_JSON_JSON_SECTION_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace runnel {

// Every method throws std::runtime_error: "<source>: <section>.<field> is <value>, expected
// <what>".
class JsonSection {
 public:
  // `name` is the path of the section for messages, empty for the top level.
  JsonSection(const nlohmann::json& object, std::string name, std::string source);

  JsonSection Section(const std::string& field);
  // The objects of a list.
  std::vector<JsonSection> Sections(const std::string& field);
  std::string String(const std::string& field);
  bool Bool(const std::string& field);
  double Number(const std::string& field);
  // An integer in [min, max].
  int64_t Integer(const std::string& field, int64_t min, int64_t max);
  // The same where another check has a lower limit than `max`: the message names `max` only to a
  // value above it.
  int64_t IntegerFrom(const std::string& field, int64_t min, int64_t max);
  // A list of strings.
  std::vector<std::string> Strings(const std::string& field);
  // A list of integers in [min, max].
  std::vector<int64_t> Integers(const std::string& field, int64_t min, int64_t max);
  // null or an integer in [min, max].
  std::optional<int64_t> OptionalInteger(const std::string& field, int64_t min, int64_t max);
  // A string that must be `only`, the one value this version knows.
  void Constant(const std::string& field, const std::string& only);

  // The value that one of the named strings stands for.
  template <typename Value>
  Value Choice(const std::string& field, const std::map<std::string, Value>& choices) {
    const auto found = choices.find(String(field));
    if (found != choices.end()) return found->second;
    std::string expected;
    for (const auto& choice : choices) {
      expected += (expected.empty() ? "" : ", ") + ('"' + choice.first + '"');
    }
    Fail(field, choices.size() == 1 ? expected : "one of " + expected);
  }
  // True when the field is there, which need not be for one that has a default.
  bool Has(const std::string& field) const;
  // The type of a field that is there and may have several.
  bool IsBool(const std::string& field) const;
  bool IsNumber(const std::string& field) const;
  bool IsString(const std::string& field) const;
  bool IsObject(const std::string& field) const;
  // True when the field is null; it is taken then.
  bool IsNull(const std::string& field);

  // Fails when the object holds a field that was not taken.
  void CheckAllTaken() const;

  // Throws for a value that has the right type but does not fit.
  [[noreturn]] void Fail(const std::string& field, const std::string& expected) const;

 private:
  const nlohmann::json& Take(const std::string& field);
  std::string Path(const std::string& field) const;

  const nlohmann::json* object_;
  std::string name_;
  std::string source_;
  std::set<std::string> taken_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_JSON_JSON_SECTION_H_
