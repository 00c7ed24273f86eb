// The section is read strictly: one line names the field, its value and what was expected.
#include "runtime/attention_decoder/attention_decoder_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
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

json Valid() {
  return json::parse(R"({"vocab_size": 30, "num_heads": 4, "feed_forward_dim": 96,
                         "left_layers": 2, "right_layers": 1, "norm_first": false,
                         "activation": "gelu", "layer_norm_eps": 1e-12, "sos_id": 28,
                         "eos_id": 29})");
}

AttentionDecoderConfig Parse(const json& object) {
  return ParseAttentionDecoderConfig(JsonSection(object, "attention_decoder", "m.pt"), 48);
}

std::string ErrorOf(const json& object) {
  return ErrorMessage<std::runtime_error>([&] { Parse(object); });
}

TEST(AttentionDecoderConfigTest, ReadsEveryField) {
  const AttentionDecoderConfig config = Parse(Valid());
  EXPECT_EQ(config.vocab_size, 30);
  EXPECT_EQ(config.num_heads, 4);
  EXPECT_EQ(config.feed_forward_dim, 96);
  EXPECT_EQ(config.left_layers, 2);
  EXPECT_EQ(config.right_layers, 1);
  EXPECT_FALSE(config.norm_first);
  EXPECT_EQ(config.activation, Activation::kGelu);
  EXPECT_EQ(config.layer_norm_eps, 1e-12);
  EXPECT_EQ(config.sos_id, 28);
  EXPECT_EQ(config.eos_id, 29);
}

TEST(AttentionDecoderConfigTest, EveryFieldIsRequiredAndOfOneType) {
  for (const auto& field : AllFields(Valid())) {
    const std::string path = "m.pt: attention_decoder." + DottedPath(field);
    EXPECT_EQ(ErrorOf(testing::Without(Valid(), field)), path + " is missing");
    for (const json& value : testing::WrongTypes(Valid().at(field))) {
      const std::string message = ErrorOf(testing::With(Valid(), field, value));
      EXPECT_TRUE(Contains(message, path + " is ")) << value;
      EXPECT_TRUE(Contains(message, ", expected ")) << value;
    }
  }
  json more = Valid();
  more["dropout"] = 0;
  EXPECT_EQ(ErrorOf(more), "m.pt: attention_decoder.dropout is a field this version does not know");
}

TEST(AttentionDecoderConfigTest, ValuesAreChecked) {
  const std::vector<std::pair<std::string, std::pair<json, std::string>>> wrong = {
      {"vocab_size", {1, "an integer from 2 to 16777216"}},
      {"num_heads", {5, "a divisor of the encoder's model_dim 48"}},
      {"num_heads", {0, "an integer from 1 to 1048576"}},
      {"feed_forward_dim", {0, "an integer from 1 to 1048576"}},
      {"left_layers", {0, "an integer from 1 to 1024"}},
      {"right_layers", {-1, "an integer from 0 to 1024"}},
      {"activation", {"tanh", "one of \"double_swish\", \"gelu\", \"relu\", \"swish\""}},
      {"layer_norm_eps", {0, "a number between 0 and 1"}},
      {"sos_id", {30, "an integer from 0 to 29"}},
      {"eos_id", {-1, "an integer from 0 to 29"}}};
  for (const auto& [field, fault] : wrong) {
    const auto& [value, expected] = fault;
    EXPECT_EQ(
        ErrorOf(testing::With(Valid(), json::json_pointer("/" + field), value)),
        "m.pt: attention_decoder." + field + " is " + value.dump() + ", expected " + expected);
  }
}

}  // namespace
}  // namespace runnel
