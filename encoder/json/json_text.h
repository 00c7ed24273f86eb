// Parses JSON text without ambiguity, and shows parts of it in messages.
#ifndef RUNNEL_ENCODER_JSON_JSON_TEXT_H_
#define RUNNEL_ENCODER_JSON_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace runnel {

// Parses a configuration or a message that errors call `name`. Throws std::runtime_error,
// "<source>: <name> is not valid JSON ...", if `text` is not JSON, gives a key of an object twice
// (other readers take the last one), or nests deeper than 32 levels, the limit for recursive code.
nlohmann::json ParseJsonText(const std::string& text, const std::string& source,
                             const std::string& name);

// A value as JSON in one line, cut off after 200 bytes, for messages.
std::string ShownJson(const nlohmann::json& value);

// The path of `key` in the section `section`, "" for the top level: "encoder.position.scheme".
std::string JsonPath(const std::string& section, const std::string& key);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_JSON_JSON_TEXT_H_
