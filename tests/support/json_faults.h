// Every way in which one field of a JSON file can be missing or of the wrong type.
#ifndef RUNNEL_TESTS_SUPPORT_JSON_FAULTS_H_
#define RUNNEL_TESTS_SUPPORT_JSON_FAULTS_H_

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace runnel::testing {

// Pointers to every field of `object` and of the objects in it, sections included.
inline std::vector<nlohmann::json::json_pointer> AllFields(
    const nlohmann::json& object,
    const nlohmann::json::json_pointer& at = nlohmann::json::json_pointer()) {
  std::vector<nlohmann::json::json_pointer> fields;
  for (const auto& item : object.items()) {
    fields.push_back(at / item.key());
    if (!item.value().is_object()) continue;
    for (const auto& inner : AllFields(item.value(), fields.back())) fields.push_back(inner);
  }
  return fields;
}

// "encoder.position.scheme" for /encoder/position/scheme.
inline std::string DottedPath(const nlohmann::json::json_pointer& field) {
  std::string path = field.to_string().substr(1);
  std::replace(path.begin(), path.end(), '/', '.');
  return path;
}

inline nlohmann::json Without(nlohmann::json json, const nlohmann::json::json_pointer& field) {
  json.at(field.parent_pointer()).erase(field.back());
  return json;
}

inline nlohmann::json With(nlohmann::json json, const nlohmann::json::json_pointer& field,
                           const nlohmann::json& value) {
  json[field] = value;
  return json;
}

// One value of every JSON type that a field which holds `valid` must refuse. An integer does for a
// field that holds a fraction; null stands for a field that takes null or an integer.
inline std::vector<nlohmann::json> WrongTypes(const nlohmann::json& valid) {
  std::vector<nlohmann::json> wrong;
  const auto add = [&](bool allowed, const nlohmann::json& value) {
    if (!allowed) wrong.push_back(value);
  };
  add(valid.is_null(), nullptr);
  add(valid.is_boolean(), true);
  add(valid.is_number() || valid.is_null(), 1);
  add(valid.is_number_float(), 2.5);
  add(valid.is_string(), "text");
  add(valid.is_array() && !valid.empty() && valid.front().is_number(),
      nlohmann::json::array({1, 2}));
  add(valid.is_object(), nlohmann::json::object());
  return wrong;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_JSON_FAULTS_H_
