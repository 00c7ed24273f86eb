// The `position` section is read strictly, each scheme with its own fields.
#include "encoder/position_config.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "encoder/json/json_section.h"
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
                      "query_scaling": "after_bias", "table_length": 5000})"),
          json::parse(R"({"scheme": "rotary"})"),
          json::parse(R"({"scheme": "windowed_rpe", "linear_pos_bias": false,
                      "query_scaling": "after_bias", "table_order": "descending", "left": 128,
                      "right": -1})"),
          json::parse(R"({"scheme": "grouped_unshifted", "linear_pos_bias": true,
                      "query_scaling": "before_bias", "group_sizes": [3, 1]})")};
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
  const std::vector<json> sections = ValidSections();
  EXPECT_TRUE(std::holds_alternative<NoPosition>(Parse(sections[0])));
  EXPECT_TRUE(std::holds_alternative<AbsolutePosition>(Parse(sections[1])));

  const auto chunk_rpe = std::get<ChunkRpe>(Parse(sections[2]));
  EXPECT_FALSE(chunk_rpe.query.linear_pos_bias);
  EXPECT_TRUE(chunk_rpe.query.scale_after_bias);
  EXPECT_EQ(chunk_rpe.order, TableOrder::kDescending);
  EXPECT_EQ(chunk_rpe.max_distance, std::numeric_limits<int64_t>::max());

  const auto bounded = std::get<ChunkRpe>(Parse(sections[3]));
  EXPECT_TRUE(bounded.query.linear_pos_bias);
  EXPECT_FALSE(bounded.query.scale_after_bias);
  EXPECT_EQ(bounded.order, TableOrder::kAscending);
  EXPECT_EQ(bounded.max_distance, 63);

  const auto key_value = std::get<RelativeKeyValue>(Parse(sections[4]));
  EXPECT_EQ(key_value.max_distance, 16);
  EXPECT_TRUE(key_value.values);
  EXPECT_FALSE(key_value.shared);

  const auto unshifted = std::get<UnshiftedPosition>(Parse(sections[5]));
  EXPECT_TRUE(unshifted.query.scale_after_bias);

  const auto legacy = std::get<LegacyRelPos>(Parse(sections[6]));
  EXPECT_TRUE(legacy.query.scale_after_bias);
  EXPECT_EQ(legacy.table_length, 5000);

  EXPECT_TRUE(std::holds_alternative<RotaryPosition>(Parse(sections[7])));

  const auto windowed = std::get<ChunkRpe>(Parse(sections[8]));
  EXPECT_EQ(windowed.window->left, 128);
  EXPECT_EQ(windowed.window->right, -1);
  EXPECT_FALSE(chunk_rpe.window.has_value());

  const auto grouped = std::get<GroupedUnshifted>(Parse(sections[9]));
  EXPECT_TRUE(grouped.query.linear_pos_bias);
  EXPECT_FALSE(grouped.query.scale_after_bias);
  EXPECT_EQ(grouped.group_sizes, (std::vector<int64_t>{3, 1}));
}

TEST(PositionConfigTest, SomeSchemesNeedTheWholeUtterance) {
  for (const json& section : ValidSections()) {
    const bool expected =
        section.at("scheme") == "legacy_rel_pos" || section.at("scheme") == "windowed_rpe";
    EXPECT_EQ(NeedsWholeUtterance(Parse(section)) != nullptr, expected);
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
            R"("relative_key_value", "unshifted", "grouped_unshifted", "legacy_rel_pos", )"
            R"("rotary", "windowed_rpe")");
  EXPECT_EQ(RefusalOf("windowed_rpe", "left", -2), "expected an integer from -1 to 1048576");
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
