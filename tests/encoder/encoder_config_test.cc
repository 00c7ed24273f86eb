// The `encoder` section is read strictly: whatever is missing, unknown, of the wrong type or out of
// range is an error that names it.
#include "encoder/encoder_config.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <variant>

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

json ValidSection() {
  return json::parse(R"({
    "type": "conformer", "input_dim": 40, "model_dim": 96, "num_layers": 4, "num_heads": 4,
    "feed_forward_dim": 384, "normalization": {"type": "global_cmvn"},
    "subsampling": {"type": "conv2d4"}, "scale_input": true,
    "position": {"scheme": "chunk_rpe", "linear_pos_bias": false, "query_scaling": "after_bias",
                 "table_order": "descending"},
    "attention_bias": {"query": true, "key": false, "value": true, "out": true},
    "feed_forward": {"macaron": true, "activation": "swish", "bias": true},
    "convolution": {"type": "causal", "kernel_size": 15, "norm": "layer_norm",
                    "norm_epsilon": 1e-5, "activation": "swish", "bias": true,
                    "left_padding": "zero"},
    "norm_first": true, "after_norm": true, "layer_norm_eps": 1e-5})");
}

json BranchformerSection() {
  json section = ValidSection();
  section["type"] = "branchformer";
  section.erase("convolution");
  section.erase("norm_first");
  section["branches"] = {{"type", "causal"},
                         {"cgmlp_dim", 192},
                         {"cgmlp_kernel_size", 31},
                         {"linear_after_convolution", true},
                         {"gate_activation", "identity"},
                         {"merge_kernel_size", 3}};
  return section;
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
  EXPECT_EQ(config.feed_forward.hidden_dim, 384);
  EXPECT_EQ(config.normalization, Normalization::kGlobalCmvn);
  EXPECT_TRUE(config.scale_input);
  EXPECT_EQ(config.convolution->kernel_size, 15);
  EXPECT_TRUE(std::holds_alternative<ChunkRpe>(config.position));
  EXPECT_TRUE(config.attention_bias.query);
  EXPECT_FALSE(config.attention_bias.key);
  EXPECT_TRUE(config.attention_bias.value);
  EXPECT_TRUE(config.attention_bias.out);
  EXPECT_EQ(config.layer_norm_eps, 1e-5);

  json other = ValidSection();
  other["normalization"] = {{"type", "running"}, {"epsilon", 1e-4}};
  other["subsampling"] = {{"type", "dw_striding8"}, {"channels", 12}, {"causal", true}};
  other["scale_input"] = false;
  other["feed_forward"] = {{"macaron", false}, {"activation", "gelu"}, {"bias", false}};
  other["convolution"]["type"] = "dynamic_chunk";
  other["convolution"]["norm"] = "batch_norm";
  other["norm_first"] = false;
  other["after_norm"] = false;
  other["attention_bias"] = {{"query", false}, {"key", true}, {"value", false}, {"out", false}};
  const EncoderConfig read = Parse(other);
  EXPECT_EQ(read.normalization, Normalization::kRunning);
  EXPECT_EQ(read.normalization_epsilon, 1e-4);
  EXPECT_EQ(read.subsampling.type, SubsamplingType::kDwStriding8);
  EXPECT_EQ(read.subsampling.channels, 12);
  EXPECT_TRUE(read.subsampling.causal);
  EXPECT_FALSE(read.scale_input);
  EXPECT_FALSE(read.feed_forward.macaron);
  EXPECT_EQ(read.feed_forward.activation, Activation::kGelu);
  EXPECT_FALSE(read.feed_forward.bias);
  EXPECT_EQ(read.convolution->type, ConvolutionType::kDynamicChunk);
  EXPECT_EQ(read.convolution->norm, ConvolutionNorm::kBatchNorm);
  EXPECT_FALSE(read.norm_first);
  EXPECT_FALSE(read.after_norm);
  EXPECT_EQ(read.NeedsWholeUtterance(), nullptr);

  other["normalization"] = {{"type", "utterance_biased"}, {"epsilon", 1e-20}};
  EXPECT_EQ(Parse(other).normalization, Normalization::kUtterance);
  EXPECT_EQ(Parse(other).deviation, FeatureDeviation::kBiased);
  EXPECT_EQ(Parse(other).normalization_epsilon, 1e-20);
  other["normalization"] = {{"type", "running_mean"}};
  EXPECT_EQ(Parse(other).normalization, Normalization::kRunning);
  EXPECT_EQ(Parse(other).deviation, FeatureDeviation::kNone);
  other["normalization"] = {{"type", "running_mean"}, {"epsilon", 1e-20}};
  EXPECT_TRUE(Contains(ParseError(other),
                       "encoder.normalization.epsilon is a field this version does not know"));
  other["normalization"] = {{"type", "utterance_biased"}};
  EXPECT_TRUE(Contains(ParseError(other), "encoder.normalization.epsilon is missing"));

  json transformer = ValidSection();
  transformer["convolution"] = nullptr;
  EXPECT_FALSE(Parse(transformer).convolution.has_value());
  EXPECT_FALSE(read.attention_bias.query);
  EXPECT_TRUE(read.attention_bias.key);
  EXPECT_FALSE(read.attention_bias.value);
  EXPECT_FALSE(read.attention_bias.out);
}

TEST(EncoderConfigTest, ReadsABranchformer) {
  const EncoderConfig config = Parse(BranchformerSection());
  EXPECT_FALSE(config.convolution.has_value());
  EXPECT_TRUE(config.norm_first);
  EXPECT_EQ(config.feed_forward.hidden_dim, 384);
  EXPECT_EQ(config.branches->type, ConvolutionType::kCausal);
  EXPECT_EQ(config.branches->gate_dim(), 96);
  EXPECT_EQ(config.branches->cgmlp_kernel_size, 31);
  EXPECT_TRUE(config.branches->linear_after_convolution);
  EXPECT_EQ(config.branches->gate_activation, Activation::kIdentity);
  EXPECT_EQ(config.branches->merge_kernel_size, 3);
  EXPECT_EQ(config.NeedsWholeUtterance(), nullptr);

  json without = BranchformerSection();
  without["feed_forward"] = nullptr;
  EXPECT_TRUE(Contains(ParseError(without),
                       "feed_forward_dim is 384, expected 0 where feed_forward is null"));
  without["feed_forward_dim"] = 0;
  without["branches"]["type"] = "symmetric";
  const EncoderConfig read = Parse(without);
  EXPECT_EQ(read.feed_forward.hidden_dim, 0);
  EXPECT_FALSE(read.feed_forward.macaron);
  EXPECT_TRUE(Contains(read.NeedsWholeUtterance(), "dynamic_chunk"));

  for (const auto& field : AllFields(BranchformerSection())) {
    EXPECT_TRUE(Contains(ParseError(Without(BranchformerSection(), field)),
                         "m.pt: encoder." + DottedPath(field) + " is missing"));
  }
  json odd = BranchformerSection();
  odd["branches"]["cgmlp_dim"] = 193;
  EXPECT_TRUE(Contains(ParseError(odd), "cgmlp_dim is 193, expected an even number"));
  json conformer = ValidSection();
  conformer["branches"] = BranchformerSection()["branches"];
  EXPECT_TRUE(Contains(ParseError(conformer), "m.pt: encoder.branches is a field this version"));
}

// icefall's, which has no layer norms.
json ReworkedSection() {
  json section = ValidSection();
  section["type"] = "reworked_conformer";
  section["subsampling"] = {{"type", "conv2d_1_2_2"}};
  section["convolution"]["norm"] = "none";
  section["convolution"]["norm_epsilon"] = nullptr;
  section["feed_forward"]["activation"] = "double_swish";
  for (const char* field : {"norm_first", "after_norm", "layer_norm_eps"}) section.erase(field);
  return section;
}

TEST(EncoderConfigTest, ReworkedConformer) {
  const EncoderConfig config = Parse(ReworkedSection());
  EXPECT_EQ(config.type, EncoderType::kReworkedConformer);
  EXPECT_EQ(config.subsampling.type, SubsamplingType::kConv2d122);
  EXPECT_EQ(config.convolution->norm, ConvolutionNorm::kNone);
  EXPECT_EQ(config.feed_forward.activation, Activation::kDoubleSwish);
  EXPECT_EQ(config.feed_forward.residual_scale(), 1.0);
  EXPECT_EQ(Parse(ValidSection()).feed_forward.residual_scale(), 0.5);
  EXPECT_FALSE(config.after_norm);
  json other = ReworkedSection();
  other["after_norm"] = false;
  EXPECT_TRUE(
      Contains(ParseError(other), "encoder.after_norm is a field this version does not know"));
  other = ReworkedSection();
  other["convolution"]["norm_epsilon"] = 1e-5;
  EXPECT_TRUE(Contains(ParseError(other), "expected null without a norm"));
  for (const auto& field : AllFields(ReworkedSection())) {
    const std::string message = ParseError(Without(ReworkedSection(), field));
    EXPECT_TRUE(Contains(message, "m.pt: encoder." + DottedPath(field) + " is missing"));
  }
}

TEST(EncoderConfigTest, MultitalkerConformer) {
  json section = ValidSection();
  section["type"] = "multitalker_conformer";
  const EncoderConfig config = Parse(section);
  EXPECT_EQ(config.type, EncoderType::kMultitalkerConformer);
  EXPECT_EQ(config.feed_forward.residual_scale(), 0.5);
  EXPECT_TRUE(config.norm_first);
  for (const auto& field : AllFields(section)) {
    const std::string message = ParseError(Without(section, field));
    EXPECT_TRUE(Contains(message, "m.pt: encoder." + DottedPath(field) + " is missing"));
  }
}

// WeNet's, with strides and groups of frames.
json EfficientSection() {
  json section = ValidSection();
  section["type"] = "efficient_conformer";
  section["position"] = {{"scheme", "grouped_unshifted"},
                         {"linear_pos_bias", false},
                         {"query_scaling", "after_bias"},
                         {"group_sizes", {3, 3, 2, 1}}};
  section["strides"] = {1, 2, 2, 1};
  section["strides_divide_kernels"] = true;
  return section;
}

TEST(EncoderConfigTest, EfficientConformer) {
  const EncoderConfig config = Parse(EfficientSection());
  EXPECT_EQ(config.type, EncoderType::kEfficientConformer);
  std::vector<int64_t> kernels, groups, frames;
  for (int layer = 0; layer < 4; ++layer) {
    kernels.push_back(config.kernel_size(layer));
    groups.push_back(config.group_size(layer));
    frames.push_back(config.frames_per_encoder_frame(layer));
  }
  EXPECT_EQ(kernels, (std::vector<int64_t>{15, 15, 7, 3}));
  EXPECT_EQ(groups, (std::vector<int64_t>{3, 3, 2, 1}));
  EXPECT_EQ(frames, (std::vector<int64_t>{4, 4, 2, 1}));
  EXPECT_EQ(config.ChunkMultiple(), 3);
  EXPECT_EQ(config.Geometry().rate(), 16);
  EXPECT_EQ(Parse(ValidSection()).ChunkMultiple(), 1);
  EXPECT_EQ(Parse(ValidSection()).Geometry().rate(), 4);
  for (const char* field : {"strides", "strides_divide_kernels"}) {
    const json::json_pointer pointer("/" + std::string(field));
    EXPECT_TRUE(Contains(ParseError(Without(EfficientSection(), pointer)),
                         "m.pt: encoder." + std::string(field) + " is missing"));
    EXPECT_TRUE(
        Contains(ParseError(With(ValidSection(), pointer, EfficientSection().at(pointer))),
                 "m.pt: encoder." + std::string(field) + " is a field this version does not know"));
  }
}

TEST(EncoderConfigTest, WrongStridesAndGroups) {
  const auto refusal = [](const std::string& field, const json& value) {
    return ParseError(With(EfficientSection(), json::json_pointer(field), value));
  };
  EXPECT_EQ(refusal("/strides", {1, 2, 2}),
            "m.pt: encoder.strides is [1,2,2], expected one for each of num_layers 4");
  EXPECT_TRUE(Contains(refusal("/strides", {1, 0, 2, 1}), "encoder.strides"));
  EXPECT_TRUE(Contains(refusal("/strides", {16, 16, 1, 1}), "expected a product of at most 64"));
  EXPECT_TRUE(Contains(refusal("/strides", {16, 1, 1, 1}),
                       "expected kernels that are left of at least one frame"));
  EXPECT_TRUE(Contains(refusal("/convolution", nullptr), "expected an object"));
  EXPECT_TRUE(Contains(refusal("/position", {{"scheme", "absolute"}}),
                       "expected the scheme none, unshifted or grouped_unshifted"));
  EXPECT_EQ(refusal("/position/group_sizes", {3, 3}),
            "m.pt: encoder.position.group_sizes is [3,3], expected one for each of num_layers 4");
  EXPECT_TRUE(Contains(refusal("/position/group_sizes", {0, 1, 1, 1}), "group_sizes"));
}

TEST(EncoderConfigTest, StridesAndGroupsOfManyLayers) {
  const auto refusal = [](const std::string& field, const std::vector<int>& values) {
    json section = EfficientSection();
    section["num_layers"] = values.size();
    section["strides"] = std::vector<int>(values.size(), 1);
    section["position"]["group_sizes"] = section["strides"];
    section[json::json_pointer(field)] = values;
    return ParseError(section);
  };
  for (std::vector<int> strides : {std::vector<int>(11, 64), std::vector<int>(10, 64)}) {
    strides.push_back(8);  // products of 2^69 and 2^63
    EXPECT_TRUE(Contains(refusal("/strides", strides), "expected a product of at most 64"));
  }
  for (const std::vector<int>& groups :
       {std::vector<int>{61, 59}, {64, 63, 61, 59, 55, 53, 47, 43, 41, 37, 31, 29, 23, 19, 17}}) {
    EXPECT_TRUE(Contains(refusal("/position/group_sizes", groups),
                         "expected sizes with a common multiple of at most 1024 encoder frames"));
  }
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

TEST(EncoderConfigTest, SaysWhatKeepsAModelFromStreaming) {
  json symmetric = ValidSection();
  symmetric["convolution"]["type"] = "symmetric";
  EXPECT_TRUE(Contains(Parse(symmetric).NeedsWholeUtterance(), "dynamic_chunk"));
  json utterance = ValidSection();
  utterance["normalization"] = {{"type", "utterance"}, {"epsilon", 1e-5}};
  EXPECT_TRUE(Contains(Parse(utterance).NeedsWholeUtterance(), "running"));
}

TEST(EncoderConfigTest, EveryFieldIsRequired) {
  for (const auto& field : AllFields(ValidSection())) {
    const std::string message = ParseError(Without(ValidSection(), field));
    EXPECT_TRUE(Contains(message, "m.pt: encoder." + DottedPath(field) + " is missing"));
  }
}

TEST(EncoderConfigTest, UnknownFieldsAreRefused) {
  for (const std::string section : {"", "/position", "/attention_bias", "/convolution",
                                    "/normalization", "/subsampling", "/feed_forward"}) {
    const json::json_pointer field(section + "/extra");
    EXPECT_TRUE(Contains(ParseError(With(ValidSection(), field, 1)),
                         "m.pt: encoder." + DottedPath(field) + " is a field this version"));
  }
}

TEST(EncoderConfigTest, WrongTypesAreRefused) {
  const json valid = ValidSection();
  for (const auto& field : AllFields(valid)) {
    for (const json& value : WrongTypes(valid.at(field))) {
      if (value.is_null() && DottedPath(field) == "convolution") continue;  // a Transformer
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
  for (const json& value : {json(0), json(-1), json(1 << 21), json(kBeyondInt64)}) {
    EXPECT_EQ(RefusalOf("/input_dim", value), "expected an integer from 1 to 1048576");
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
  json rotary = ValidSection();
  rotary["position"] = {{"scheme", "rotary"}};
  EXPECT_NO_THROW(Parse(rotary));
  rotary["num_heads"] = 32;
  EXPECT_TRUE(Contains(ParseError(rotary), "num_heads is 32, expected heads of an even size"));
  EXPECT_EQ(ParseError(odd), "m.pt: encoder.model_dim is 95, expected an even number");
}

TEST(EncoderConfigTest, OnlyTheKnownArchitecture) {
  EXPECT_EQ(RefusalOf("/type", "transformer"),
            "expected one of \"branchformer\", \"conformer\", \"efficient_conformer\", "
            "\"multitalker_conformer\", "
            "\"reworked_conformer\"");
  EXPECT_EQ(RefusalOf("/convolution/type", "anticausal"),
            "expected one of \"causal\", \"dynamic_chunk\", \"symmetric\"");
  EXPECT_EQ(RefusalOf("/convolution/norm", "rms_norm"),
            "expected one of \"batch_norm\", \"layer_norm\", \"none\"");
  EXPECT_EQ(RefusalOf("/convolution/left_padding", ""), "expected one of \"gated_zero\", \"zero\"");
  EXPECT_EQ(RefusalOf("/feed_forward/activation", "ReLU"),
            "expected one of \"double_swish\", \"gelu\", \"relu\", \"swish\"");
  EXPECT_TRUE(Contains(RefusalOf("/subsampling/type", "conv2d3"), "expected one of \"conv1d2\""));
  EXPECT_EQ(RefusalOf("/input_dim", 6),
            "expected bins enough for the convolutions of the subsampling");
  json symmetric = ValidSection();
  symmetric["convolution"]["type"] = "symmetric";
  symmetric["convolution"]["left_padding"] = "gated_zero";
  EXPECT_TRUE(Contains(ParseError(symmetric), "left_padding is \"gated_zero\", expected \"zero\""));
}

TEST(EncoderConfigTest, MessagesStayOnOneLine) {
  RefusalOf("/feed_forward/activation", "two\nlines");
  ParseError(With(ValidSection(), json::json_pointer("/two\nlines"), 1));
}

}  // namespace
}  // namespace runnel
