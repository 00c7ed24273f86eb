// Text, JSON and CTM lines of results.
#include "tools/decode/output_format.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "tests/support/error_message.h"

namespace runnel {
namespace {

using testing::ErrorMessage;

class OutputFormatTest : public ::testing::Test {
 protected:
  OutputFormatTest() {
    Hypothesis best;
    best.text = "ab b";
    best.score = -1.5;
    best.tokens = {{1, 0, 80, 0.5F}, {2, 120, 160, 0.25F}, {2, 1000, 1240, 0.75F}};
    best.words = {{"ab", 0, 160, 0.25F}, {"b", 1000, 1240, 0.75F}};
    result_.hypotheses = {best};
    result_.audio_seconds = 2.5;
  }

  std::string Format(OutputFormat format, const std::string& id = "x", int nbest = 1) const {
    return FormatResult(format, id, result_, nbest, tokens_);
  }

  const TokenTable tokens_{"<blank> 0\na 1\nb 2\n", 3, 0, "units"};
  RecordingResult result_;
};

TEST_F(OutputFormatTest, Text) {
  EXPECT_EQ(Format(OutputFormat::kText), "x ab b\n");
  result_.hypotheses.push_back(Hypothesis());
  EXPECT_EQ(Format(OutputFormat::kText, "x", 3), "x-1 ab b\nx-2\n");
  result_.hypotheses = {Hypothesis()};
  EXPECT_EQ(Format(OutputFormat::kText), "x\n");
  EXPECT_EQ(Format(OutputFormat::kText, "x", 3), "x-1\n");
}

TEST_F(OutputFormatTest, Ctm) {
  EXPECT_EQ(Format(OutputFormat::kCtm),
            "x 1 0.000 0.160 ab 0.250\n"
            "x 1 1.000 0.240 b 0.750\n");
  result_.hypotheses = {Hypothesis()};
  EXPECT_EQ(Format(OutputFormat::kCtm), "");
}

TEST_F(OutputFormatTest, Json) {
  const std::string line = Format(OutputFormat::kJson);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const nlohmann::json object = nlohmann::json::parse(line);
  EXPECT_EQ(object["id"], "x");
  EXPECT_EQ(object["text"], "ab b");
  EXPECT_EQ(object["audio_seconds"], 2.5);
  ASSERT_EQ(object["nbest"].size(), 1U);
  const nlohmann::json& best = object["nbest"][0];
  EXPECT_EQ(best["text"], "ab b");
  EXPECT_EQ(best["score"], -1.5);
  ASSERT_EQ(best["tokens"].size(), 3U);
  EXPECT_EQ(best["tokens"][1], nlohmann::json::parse(R"({"token": "b", "start_ms": 120.0,
      "end_ms": 160.0, "confidence": 0.25})"));
  ASSERT_EQ(best["words"].size(), 2U);
  EXPECT_EQ(best["words"][1], nlohmann::json::parse(R"({"word": "b", "start_ms": 1000.0,
      "end_ms": 1240.0, "confidence": 0.75})"));
}

TEST_F(OutputFormatTest, JsonIsValidWhateverTheIdIs) {
  const nlohmann::json object =
      nlohmann::json::parse(Format(OutputFormat::kJson, "\"\xFF\\\x01\xC3\xA9"));
  EXPECT_EQ(object["id"], "\"\xEF\xBF\xBD\\\x01\xC3\xA9");
}

TEST_F(OutputFormatTest, ParsesNames) {
  EXPECT_EQ(ParseOutputFormat("text"), OutputFormat::kText);
  EXPECT_EQ(ParseOutputFormat("json"), OutputFormat::kJson);
  EXPECT_EQ(ParseOutputFormat("ctm"), OutputFormat::kCtm);
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([] { ParseOutputFormat("xml"); }),
            "--format is 'xml', expected text, json or ctm");
}

}  // namespace
}  // namespace runnel
