// JSON as text: reading it without ambiguity, showing parts of it in messages.
// Internal to this project: runnel.json and the sections of it (json_section.h), and what clients
// of tools/server send.
#ifndef RUNNEL_ENCODER_JSON_TEXT_H_
#define RUNNEL_ENCODER_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace runnel {

// Parses a configuration or a message; `name` is what errors call it. Throws std::runtime_error,
// "<source>: <name> is not valid JSON ...", if `text` is not JSON, gives a key of an object twice
// (of which other readers take the last), or nests deeper than 32 levels, which recursive code
// bears.
nlohmann::json ParseJsonText(const std::string& text, const std::string& source,
                             const std::string& name);

// What a message can hold of a value: JSON in one line, cut off when it is long.
std::string ShownJson(const nlohmann::json& value);

// The path of `key` in the section `section`, "" for the top level: "encoder.position.scheme".
std::string JsonPath(const std::string& section, const std::string& key);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_JSON_TEXT_H_
