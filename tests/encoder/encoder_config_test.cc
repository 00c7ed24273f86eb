// The `encoder` section is read strictly: whatever is missing, unknown, of the wrong type or out of
// range is an error that names it.
#include "encoder/encoder_config.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

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

json ValidSection() {
  return json::parse(R"({
    "type": "conformer", "input_dim": 40, "model_dim": 96, "num_layers": 4, "num_heads": 4,
    "feed_forward_dim": 384, "subsampling": "conv2d4", "global_cmvn": true, "scale_input": true,
    "position": {"scheme": "chunk_rpe", "linear_pos_bias": false, "query_scaling": "after_bias",
                 "table_order": "descending"},
    "attention_bias": {"query": true, "key": false, "value": true, "out": true},
    "convolution": {"type": "causal", "kernel_size": 15, "norm": "layer_norm",
                    "left_padding": "zero"},
    "activation": "swish", "layer_norm_eps": 1e-5})");
}

EncoderConfig Parse(const json& section) {
  JsonSection reader(section, "encoder", "m.pt");
  return ParseEncoderConfig(&reader);
}

std::string ParseError(const json& section) {
  return ErrorMessage<std::runtime_error>([&] { Parse(section); });
}

// The message for `value` in `field`, without its start "m.pt: encoder.<field> is <value>, ".
std::string RefusalOf(const std::string& field, const json& value) {
  const std::string message = ParseError(With(ValidSection(), json::json_pointer(field), value));
  const std::string start =
      "m.pt: encoder." + DottedPath(json::json_pointer(field)) + " is " + value.dump() + ", ";
  EXPECT_EQ(message.substr(0, start.size()), start);
  return message.size() < start.size() ? message : message.substr(start.size());
}

TEST(EncoderConfigTest, ReadsEveryField) {
  const EncoderConfig config = Parse(ValidSection());
  EXPECT_EQ(config.input_dim, 40);
  EXPECT_EQ(config.model_dim, 96);
  EXPECT_EQ(config.num_layers, 4);
  EXPECT_EQ(config.num_heads, 4);
  EXPECT_EQ(config.head_dim(), 24);
  EXPECT_EQ(config.feed_forward_dim, 384);
  EXPECT_TRUE(config.global_cmvn);
  EXPECT_TRUE(config.scale_input);
  EXPECT_EQ(config.position.scheme, "chunk_rpe");
  EXPECT_TRUE(config.attention_bias.query);
  EXPECT_FALSE(config.attention_bias.key);
  EXPECT_TRUE(config.attention_bias.value);
  EXPECT_TRUE(config.attention_bias.out);
  EXPECT_EQ(config.conv_kernel_size, 15);
  EXPECT_EQ(config.layer_norm_eps, 1e-5);

  json other = ValidSection();
  other["global_cmvn"] = false;
  other["scale_input"] = false;
  other["attention_bias"] = {{"query", false}, {"key", true}, {"value", false}, {"out", false}};
  EXPECT_FALSE(Parse(other).global_cmvn);
  EXPECT_FALSE(Parse(other).scale_input);
  EXPECT_FALSE(Parse(other).attention_bias.query);
  EXPECT_TRUE(Parse(other).attention_bias.key);
  EXPECT_FALSE(Parse(other).attention_bias.value);
  EXPECT_FALSE(Parse(other).attention_bias.out);
}

TEST(EncoderConfigTest, SmallestSizes) {
  json section = ValidSection();
  section["input_dim"] = 7;
  section["model_dim"] = 2;
  section["num_heads"] = 1;
  section["num_layers"] = 1;
  section["feed_forward_dim"] = 1;
  section["convolution"]["kernel_size"] = 1;
  EXPECT_NO_THROW(Parse(section));
}

TEST(EncoderConfigTest, EveryFieldIsRequired) {
  for (const auto& field : AllFields(ValidSection())) {
    const std::string message = ParseError(Without(ValidSection(), field));
    EXPECT_TRUE(Contains(message, "m.pt: encoder." + DottedPath(field) + " is missing"));
  }
}

TEST(EncoderConfigTest, UnknownFieldsAreRefused) {
  for (const std::string section : {"", "/position", "/attention_bias", "/convolution"}) {
    const json::json_pointer field(section + "/extra");
    EXPECT_TRUE(Contains(ParseError(With(ValidSection(), field, 1)),
                         "m.pt: encoder." + DottedPath(field) + " is a field this version"));
  }
}

TEST(EncoderConfigTest, WrongTypesAreRefused) {
  const json valid = ValidSection();
  for (const auto& field : AllFields(valid)) {
    for (const json& value : WrongTypes(valid.at(field))) {
      const std::string message = ParseError(With(valid, field, value));
      EXPECT_TRUE(Contains(message, "m.pt: encoder." + DottedPath(field) + " is "));
      EXPECT_TRUE(Contains(message, ", expected "));
    }
  }
}

TEST(EncoderConfigTest, TheSectionMustBeAnObject) {
  for (const json& section : WrongTypes(ValidSection())) {
    EXPECT_EQ(ParseError(section),
              "m.pt: encoder is " + std::string(section.type_name()) + ", expected an object");
  }
}

TEST(EncoderConfigTest, OutOfRange) {
  constexpr uint64_t kBeyondInt64 = UINT64_MAX;
  for (const json& value : {json(6), json(0), json(-1), json(1 << 21), json(kBeyondInt64)}) {
    EXPECT_EQ(RefusalOf("/input_dim", value), "expected an integer from 7 to 1048576");
  }
  for (const json& value : {json(1), json(0), json(-96), json(1 << 21), json(kBeyondInt64)}) {
    EXPECT_EQ(RefusalOf("/model_dim", value), "expected an integer from 2 to 1048576");
  }
  for (const json& value : {json(0), json(-1), json(1025), json(kBeyondInt64)}) {
    EXPECT_EQ(RefusalOf("/num_layers", value), "expected an integer from 1 to 1024");
  }
  for (const json& value : {json(0), json(-4), json(kBeyondInt64)}) {
    EXPECT_EQ(RefusalOf("/num_heads", value), "expected an integer from 1 to 1048576");
    EXPECT_EQ(RefusalOf("/feed_forward_dim", value), "expected an integer from 1 to 1048576");
    EXPECT_EQ(RefusalOf("/convolution/kernel_size", value), "expected an integer from 1 to 4096");
  }
  for (const json& value : {json(0), json(0.0), json(-1e-5), json(1), json(1e300)}) {
    EXPECT_EQ(RefusalOf("/layer_norm_eps", value), "expected a number between 0 and 1");
  }
}

TEST(EncoderConfigTest, IntegersBeyond64BitsDoNotWrapAround) {
  // 2^64 - 1 would be -1 in a field that may be -1.
  const json object = {{"size", UINT64_MAX}};
  JsonSection section(object, "streaming", "m.pt");
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { section.Integer("size", -1, 100); }),
            "m.pt: streaming.size is 18446744073709551615, expected an integer from -1 to 100");
}

TEST(EncoderConfigTest, SizesMustFitEachOther) {
  EXPECT_EQ(RefusalOf("/num_heads", 5), "expected a divisor of model_dim 96");
  EXPECT_EQ(RefusalOf("/num_heads", 192), "expected a divisor of model_dim 96");
  json odd = ValidSection();
  odd["model_dim"] = 95;
  odd["num_heads"] = 5;
  EXPECT_EQ(ParseError(odd), "m.pt: encoder.model_dim is 95, expected an even number");
}

TEST(EncoderConfigTest, OnlyTheKnownArchitecture) {
  EXPECT_EQ(RefusalOf("/type", "transformer"), "expected \"conformer\"");
  EXPECT_EQ(RefusalOf("/subsampling", "conv2d8"), "expected \"conv2d4\"");
  EXPECT_EQ(RefusalOf("/convolution/type", "symmetric"), "expected \"causal\"");
  EXPECT_EQ(RefusalOf("/convolution/norm", "batch_norm"), "expected \"layer_norm\"");
  EXPECT_EQ(RefusalOf("/convolution/left_padding", ""), "expected \"zero\"");
  EXPECT_EQ(RefusalOf("/activation", "ReLU"), "expected \"swish\"");
}

TEST(EncoderConfigTest, MessagesStayOnOneLine) {
  RefusalOf("/activation", "two\nlines");
  ParseError(With(ValidSection(), json::json_pointer("/two\nlines"), 1));
}

}  // namespace
}  // namespace runnel
