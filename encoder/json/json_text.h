// Parses JSON text without ambiguity, and shows parts of it in messages.
#ifndef RUNNEL_ENCODER_JSON_JSON_TEXT_H_
#define RUNNEL_ENCODER_JSON_JSON_TEXT_H_

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace runnel {

// Parses a configuration or a message that errors call `name`. Takes time and memory in proportion
// to `text`. Throws std::runtime_error, "<source>: <name> is not valid JSON ...", if `text` is not
// JSON, gives a key of an object twice (other readers take the last one), nests deeper than 32
// levels, the limit for recursive code, or has more than `max_values` values: numbers, strings,
// true, false, null, arrays and objects.
nlohmann::json ParseJsonText(std::string_view text, const std::string& source,
                             const std::string& name, size_t max_values = size_t{1} << 24);

// A value as JSON in one line, cut off after 200 bytes, for messages.
std::string ShownJson(const nlohmann::json& value);

// The path of `key` in the section `section`, "" for the top level: "encoder.position.scheme".
std::string JsonPath(const std::string& section, const std::string& key);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_JSON_JSON_TEXT_H_
