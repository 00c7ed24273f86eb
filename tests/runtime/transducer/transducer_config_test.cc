// The `transducer` and `prompt` sections of a model file: every field is required and checked.
#include "runtime/transducer/transducer_config.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "encoder/json/json_section.h"
#include "runtime/transducer/language_prompt.h"
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

json Section(const std::string& predictor) {
  json section = json::parse(R"({
      "vocab_size": 9, "blank_id": 8,
      "joint": {"dim": 12, "input_linear": true, "hidden_linear": false, "activation": "tanh"},
      "durations": [0, 1, 4], "max_symbols": 10, "beam": "time_synchronous"})");
  section["predictor"] = json::parse(predictor);
  return section;
}

std::vector<json> AllSections() {
  return {Section(R"({"type": "lstm", "embedding_dim": 5, "hidden_dim": 6, "num_layers": 2,
                      "output_dim": 7})"),
          Section(R"({"type": "conv", "embedding_dim": 6, "context_size": 2, "groups": 3,
                      "bias": true, "norm_epsilon": 1e-5, "activation": "relu"})"),
          Section(R"({"type": "embedding", "embedding_dim": 6, "context_size": 3, "num_heads": 4,
                      "norm_epsilon": 1e-5, "activation": "swish"})")};
}

TransducerConfig Parse(const json& section) {
  return ParseTransducerConfig(JsonSection(section, "transducer", "m.pt"));
}

TEST(TransducerConfigTest, ReadsEveryField) {
  const TransducerConfig lstm = Parse(AllSections()[0]);
  EXPECT_EQ(lstm.vocab_size, 9);
  EXPECT_EQ(lstm.blank_id, 8);
  EXPECT_EQ(lstm.joint.dim, 12);
  EXPECT_TRUE(lstm.joint.input_linear);
  EXPECT_FALSE(lstm.joint.hidden.has_value());
  EXPECT_EQ(lstm.joint.activation, Activation::kTanh);
  EXPECT_EQ(lstm.durations, (std::vector<int64_t>{0, 1, 4}));
  EXPECT_EQ(lstm.max_symbols, 10);
  EXPECT_EQ(lstm.beam, TransducerBeam::kTimeSynchronous);
  EXPECT_EQ(lstm.num_outputs(), 12);
  const auto& predictor = std::get<LstmPredictorConfig>(lstm.predictor);
  EXPECT_EQ(predictor.embedding_dim, 5);
  EXPECT_EQ(predictor.hidden_dim, 6);
  EXPECT_EQ(predictor.num_layers, 2);
  EXPECT_EQ(OutputDim(lstm.predictor), 7);
  EXPECT_EQ(
      OutputDim(Parse(With(AllSections()[0], json::json_pointer("/predictor/output_dim"), nullptr))
                    .predictor),
      6);
  EXPECT_EQ(std::get<ConvPredictorConfig>(Parse(AllSections()[1]).predictor).groups, 3);
  EXPECT_EQ(std::get<EmbeddingPredictorConfig>(Parse(AllSections()[2]).predictor).num_heads, 4);
}

TEST(TransducerConfigTest, ReadsEveryLayerBeforeTheActivation) {
  const json::json_pointer field("/joint/hidden_linear");
  const JointConfig same = Parse(With(AllSections()[0], field, true)).joint;
  EXPECT_EQ(same.hidden->dim, 12);
  EXPECT_EQ(same.hidden->input_activation, Activation::kIdentity);
  EXPECT_EQ(same.last_dim(), 12);
  const json section = {{"dim", 5}, {"input_activation", "tanh"}};
  const JointConfig other = Parse(With(AllSections()[0], field, section)).joint;
  EXPECT_EQ(other.hidden->dim, 5);
  EXPECT_EQ(other.hidden->input_activation, Activation::kTanh);
  EXPECT_EQ(other.last_dim(), 5);
  const auto message = [&](const json& value) {
    return ErrorMessage<std::runtime_error>([&] { Parse(With(AllSections()[0], field, value)); });
  };
  EXPECT_TRUE(Contains(message(1), "transducer.joint.hidden_linear is 1, expected"));
  EXPECT_TRUE(Contains(message({{"dim", 5}}), "joint.hidden_linear.input_activation is missing"));
  EXPECT_TRUE(Contains(message({{"dim", 0}, {"input_activation", "tanh"}}),
                       "joint.hidden_linear.dim is 0, expected"));
  EXPECT_TRUE(Contains(message({{"dim", 5}, {"input_activation", "tanh"}, {"extra", 1}}),
                       "extra is a field this version does not know"));
}

TEST(TransducerConfigTest, ReadsEveryActivation) {
  const std::map<std::string, Activation> names = {{"swish", Activation::kSwish},
                                                   {"relu", Activation::kRelu},
                                                   {"gelu", Activation::kGelu},
                                                   {"tanh", Activation::kTanh},
                                                   {"sigmoid", Activation::kSigmoid}};
  for (const auto& [name, activation] : names) {
    const json::json_pointer field("/joint/activation");
    EXPECT_EQ(Parse(With(AllSections()[0], field, name)).joint.activation, activation);
  }
}

TEST(TransducerConfigTest, EveryFieldIsRequiredAndNoOtherIsKnown) {
  for (const json& section : AllSections()) {
    for (const json::json_pointer& field : AllFields(section)) {
      const std::string missing =
          ErrorMessage<std::runtime_error>([&] { Parse(Without(section, field)); });
      EXPECT_EQ(missing, "m.pt: transducer." + DottedPath(field) + " is missing");
    }
    for (const char* place : {"/extra", "/predictor/extra", "/joint/extra"}) {
      const std::string unknown = ErrorMessage<std::runtime_error>(
          [&] { Parse(With(section, json::json_pointer(place), 1)); });
      EXPECT_TRUE(Contains(unknown, "extra is a field this version does not know")) << unknown;
    }
  }
}

TEST(TransducerConfigTest, WrongValuesAreNamed) {
  const struct {
    const char* field;
    json value;
    const char* message;
  } faults[] = {
      {"/blank_id", 9, "transducer.blank_id is 9, expected an integer from 0 to 8"},
      {"/max_symbols", 0, "transducer.max_symbols is 0, expected an integer from 1 to 1000"},
      {"/beam", "wide", "transducer.beam is \"wide\", expected one of"},
      {"/durations", json::array({0, -1}), "transducer.durations is [0,-1], expected a list of"},
      {"/durations", json::array({1, 2, 1}),
       "transducer.durations is [1,2,1], expected each duration once"},
      {"/beam", "modified", "transducer.beam is \"modified\", expected time_synchronous with"},
      {"/durations", 3, "transducer.durations is 3, expected a list of integers"},
      {"/predictor/type", "gru", "transducer.predictor.type is \"gru\", expected one of"},
      {"/predictor/num_layers", 0, "transducer.predictor.num_layers is 0, expected an integer"},
      {"/joint/activation", "elu", "transducer.joint.activation is \"elu\", expected one of"},
  };
  for (const auto& fault : faults) {
    const std::string message = ErrorMessage<std::runtime_error>(
        [&] { Parse(With(AllSections()[0], json::json_pointer(fault.field), fault.value)); });
    EXPECT_TRUE(Contains(message, fault.message)) << message;
  }
  EXPECT_TRUE(Contains(ErrorMessage<std::runtime_error>([] {
                         Parse(With(AllSections()[1], json::json_pointer("/predictor/groups"), 4));
                       }),
                       "transducer.predictor.groups is 4, expected a divisor of embedding_dim"));
}

LanguagePromptConfig ParsePrompt(const char* text) {
  const json section = json::parse(text);
  return ParseLanguagePromptConfig(JsonSection(section, "prompt", "m.pt"));
}

TEST(LanguagePromptConfigTest, LanguagesByName) {
  const LanguagePromptConfig config =
      ParsePrompt(R"({"languages": ["en-US", "", "de-DE"], "hidden_dim": 4, "default": "de-DE"})");
  EXPECT_EQ(config.IndexOf("en-US"), 0);
  EXPECT_EQ(config.IndexOf("de-DE"), 2);
  EXPECT_EQ(config.IndexOf(""), 2);
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { config.IndexOf("fr"); }),
            "language is 'fr', expected one of en-US, de-DE");
}

TEST(LanguagePromptConfigTest, WrongValuesAreNamed) {
  const auto message = [](const char* text) {
    return ErrorMessage<std::runtime_error>([&] { ParsePrompt(text); });
  };
  EXPECT_TRUE(Contains(message(R"({"languages": ["en", "en"], "hidden_dim": 4, "default": "en"})"),
                       "expected each name once"));
  EXPECT_TRUE(Contains(message(R"({"languages": ["en"], "hidden_dim": 4, "default": "de"})"),
                       "prompt.default is \"de\", expected one of the languages"));
  EXPECT_TRUE(Contains(message(R"({"languages": [1], "hidden_dim": 4, "default": "de"})"),
                       "expected a list of strings"));
}

}  // namespace
}  // namespace runnel
