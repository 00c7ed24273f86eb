// The `position` section is read strictly, each scheme with its own fields.
#include "encoder/position/position_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "encoder/json_section.h"
#include "tests/support/error_message.h"
#include "tests/support/json_faults.h"

namespace runnel {
namespace {

using nlohmann::json;
using testing::AllFields;
using testing::Contains;
using testing::DottedPath;
using testing::ErrorMessage;
using testing::With;
using testing::Without;
using testing::WrongTypes;

std::vector<json> ValidSections() {
  return {json::parse(R"({"scheme": "none"})"),
          json::parse(R"({"scheme": "absolute"})"),
          json::parse(R"({"scheme": "chunk_rpe", "linear_pos_bias": false,
                      "query_scaling": "after_bias", "table_order": "descending"})"),
          json::parse(R"({"scheme": "bounded_rpe", "radius": 64, "linear_pos_bias": true,
                      "query_scaling": "before_bias", "table_order": "ascending"})"),
          json::parse(R"({"scheme": "relative_key_value", "max_distance": 16, "values": true,
                      "shared": false})"),
          json::parse(R"({"scheme": "unshifted", "linear_pos_bias": false,
                      "query_scaling": "after_bias"})"),
          json::parse(R"({"scheme": "legacy_rel_pos", "linear_pos_bias": false,
                      "query_scaling": "after_bias", "table_length": 5000})")};
}

PositionConfig Parse(const json& object) {
  JsonSection section(object, "encoder.position", "m.pt");
  return ParsePosition(&section);
}

std::string ParseError(const json& section) {
  return ErrorMessage<std::runtime_error>([&] { Parse(section); });
}

// The message for `value` in `field` of the section of this scheme, without its start.
std::string RefusalOf(const std::string& scheme, const std::string& field, const json& value) {
  for (const json& valid : ValidSections()) {
    if (valid.at("scheme") != scheme) continue;
    const std::string message = ParseError(With(valid, json::json_pointer("/" + field), value));
    const std::string start = "m.pt: encoder.position." + field + " is " + value.dump() + ", ";
    EXPECT_EQ(message.substr(0, start.size()), start);
    return message.size() < start.size() ? message : message.substr(start.size());
  }
  return "no such scheme";
}

TEST(PositionConfigTest, ReadsEveryScheme) {
  for (const json& section : ValidSections()) {
    const PositionConfig config = Parse(section);
    EXPECT_EQ(config.scheme, section.at("scheme").get<std::string>());
    EXPECT_TRUE(config.build) << section;
    EXPECT_EQ(config.needs_whole_utterance, config.scheme == "legacy_rel_pos");
  }
}

TEST(PositionConfigTest, EveryFieldIsRequiredAndOfItsType) {
  for (const json& section : ValidSections()) {
    for (const auto& field : AllFields(section)) {
      const std::string name = "m.pt: encoder.position." + DottedPath(field);
      EXPECT_TRUE(Contains(ParseError(Without(section, field)), name + " is missing"));
      for (const json& value : WrongTypes(section.at(field))) {
        const std::string message = ParseError(With(section, field, value));
        EXPECT_TRUE(Contains(message, name + " is "));
        EXPECT_TRUE(Contains(message, ", expected "));
      }
    }
  }
}

TEST(PositionConfigTest, FieldsOfAnotherSchemeAreRefused) {
  for (const json& section : ValidSections()) {
    for (const json& other : ValidSections()) {
      for (const auto& field : AllFields(other)) {
        if (section.contains(field)) continue;
        EXPECT_TRUE(Contains(ParseError(With(section, field, other.at(field))),
                             "encoder.position." + DottedPath(field) + " is a field this version"));
      }
    }
  }
}

TEST(PositionConfigTest, OutOfRange) {
  EXPECT_EQ(RefusalOf("none", "scheme", "rel_pos"),
            R"(expected one of "none", "absolute", "chunk_rpe", "bounded_rpe", )"
            R"("relative_key_value", "unshifted", "legacy_rel_pos")");
  for (const json& value : {json(0), json(-1), json(1 << 21), json(UINT64_MAX)}) {
    EXPECT_EQ(RefusalOf("bounded_rpe", "radius", value), "expected an integer from 1 to 1048576");
    EXPECT_EQ(RefusalOf("legacy_rel_pos", "table_length", value),
              "expected an integer from 1 to 1048576");
  }
  EXPECT_EQ(RefusalOf("relative_key_value", "max_distance", -1),
            "expected an integer from 0 to 1048576");
  for (const std::string scheme : {"chunk_rpe", "bounded_rpe", "unshifted", "legacy_rel_pos"}) {
    EXPECT_EQ(RefusalOf(scheme, "query_scaling", "before"),
              "expected \"after_bias\" or \"before_bias\"");
  }
  for (const std::string scheme : {"chunk_rpe", "bounded_rpe"}) {
    EXPECT_EQ(RefusalOf(scheme, "table_order", ""), "expected \"descending\" or \"ascending\"");
  }
}

}  // namespace
}  // namespace runnel
