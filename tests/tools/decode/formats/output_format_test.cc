// Text, JSON and CTM, of whole recordings and of utterances.
#include "tools/decode/formats/output_format.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/tools/decode/formats/make_utterance.h"
#include "tools/decode/formats/lines.h"

namespace runnel {
namespace {

using testing::ErrorMessage;
using testing::MakeHypothesis;
using testing::MakeTable;
using testing::MakeUtterance;

constexpr double kAudioSeconds = 2.5;

class OutputFormatTest : public ::testing::Test {
 protected:
  // All pieces of a recording that ends.
  std::string Format(OutputFormat format, const std::string& id = "x", int nbest = 1) const {
    const auto formatter = MakeFormatter(format, id, nbest, tokens_);
    std::string text;
    for (const Utterance& utterance : utterances_) text += formatter->Add(utterance);
    return text + formatter->Finish(kAudioSeconds);
  }

  // All pieces of a recording that fails after its first utterances.
  std::string Failed(OutputFormat format, size_t num_utterances) const {
    const auto formatter = MakeFormatter(format, "x", 1, tokens_);
    std::string text;
    for (size_t i = 0; i < num_utterances; ++i) text += formatter->Add(utterances_[i]);
    return text + formatter->Fail("a.flac: \"lost\"");
  }

  std::vector<Utterance> utterances_;
  const TokenTable tokens_ = MakeTable({"a", "b", "\u2581b"});
  const std::vector<Token> ab_b_ = {
      {1, 0, 80, 0.5F, 0}, {2, 120, 160, 0.25F, 3}, {3, 1000, 1240, 0.75F, 25}};
  const std::vector<Token> b_ = {{3, 2000, 2040, 1.0F, 50}};
};

class RecordingFormatTest : public OutputFormatTest {
 protected:
  RecordingFormatTest() { utterances_ = {MakeUtterance(0, UtteranceEnd::kFinish, ab_b_, tokens_)}; }
};

TEST_F(RecordingFormatTest, Text) {
  EXPECT_EQ(Format(OutputFormat::kText), "x ab b\n");
  utterances_[0].nbest.emplace_back();
  EXPECT_EQ(Format(OutputFormat::kText, "x", 3), "x-1 ab b\nx-2\n");
  utterances_[0].nbest = {Hypothesis()};
  EXPECT_EQ(Format(OutputFormat::kText), "x\n");
  EXPECT_EQ(Format(OutputFormat::kText, "x", 3), "x-1\n");
}

TEST_F(RecordingFormatTest, Json) {
  EXPECT_EQ(
      Format(OutputFormat::kJson),
      R"({"id":"x","text":"ab b","audio_seconds":2.5,"nbest":[{"text":"ab b","score":-1.5,)"
      R"("tokens":[{"text":"a","id":1,"frame":0,"start_ms":0.0,"end_ms":80.0,"confidence":0.5},)"
      R"({"text":"b","id":2,"frame":3,"start_ms":120.0,"end_ms":160.0,"confidence":0.25},)"
      "{\"text\":\"\u2581b\","
      R"("id":3,"frame":25,"start_ms":1000.0,"end_ms":1240.0,"confidence":0.75}],)"
      R"("words":[{"text":"ab","start_ms":0.0,"end_ms":160.0,"confidence":0.25},)"
      R"({"text":"b","start_ms":1000.0,"end_ms":1240.0,"confidence":0.75}]}]})"
      "\n");
}

TEST_F(RecordingFormatTest, Ctm) {
  EXPECT_EQ(Format(OutputFormat::kCtm),
            "x 1 0.000 0.160 ab 0.250\n"
            "x 1 1.000 0.240 b 0.750\n");
  utterances_[0].nbest = {Hypothesis()};
  EXPECT_EQ(Format(OutputFormat::kCtm), "");
}

TEST_F(RecordingFormatTest, AFailedRecordingIsLeftOut) {
  for (const OutputFormat format : {OutputFormat::kText, OutputFormat::kJson, OutputFormat::kCtm}) {
    EXPECT_EQ(Failed(format, 0), "");
  }
}

TEST_F(RecordingFormatTest, JsonIsValidWhateverTheIdIs) {
  for (const OutputFormat format : {OutputFormat::kJson, OutputFormat::kUtteranceJson}) {
    const auto object = nlohmann::json::parse(Format(format, "\"\xFF\\\x01\xC3\xA9"));
    EXPECT_EQ(object["id"], "\"\xEF\xBF\xBD\\\x01\xC3\xA9");
  }
}

// Speech, silence that holds no text, speech.
class UtteranceFormatTest : public OutputFormatTest {
 protected:
  UtteranceFormatTest() {
    utterances_ = {MakeUtterance(0, UtteranceEnd::kEndpoint, ab_b_, tokens_),
                   MakeUtterance(1, UtteranceEnd::kFinalize, b_, tokens_),
                   MakeUtterance(2, UtteranceEnd::kFinish, {}, tokens_)};
  }
};

TEST_F(UtteranceFormatTest, Text) {
  EXPECT_EQ(Format(OutputFormat::kUtteranceText), "x-0001 ab b\nx-0002 b\n");
  utterances_[1].nbest.push_back(MakeHypothesis({}, tokens_));
  EXPECT_EQ(Format(OutputFormat::kUtteranceText, "x", 2), "x-0001-1 ab b\nx-0002-1 b\nx-0002-2\n");
  EXPECT_EQ(Failed(OutputFormat::kUtteranceText, 1), "x-0001 ab b\n");
  utterances_ = {utterances_.back()};
  EXPECT_EQ(Format(OutputFormat::kUtteranceText), "");
}

TEST_F(UtteranceFormatTest, NumbersHaveFourDigitsAtLeast) {
  EXPECT_EQ(UtteranceId("a b", 0), "a b-0001");
  EXPECT_EQ(UtteranceId("x", 9998), "x-9999");
  EXPECT_EQ(UtteranceId("x", 9999), "x-10000");
}

TEST_F(UtteranceFormatTest, JoinedText) {
  EXPECT_EQ(Format(OutputFormat::kJoinedText), "x ab b b\n");
  EXPECT_EQ(Failed(OutputFormat::kJoinedText, 1), "x ab b\n");
  EXPECT_EQ(Failed(OutputFormat::kJoinedText, 0), "");
  utterances_ = {utterances_.back()};
  EXPECT_EQ(Format(OutputFormat::kJoinedText), "x\n");
}

TEST_F(UtteranceFormatTest, Json) {
  utterances_.erase(utterances_.begin());
  EXPECT_EQ(Format(OutputFormat::kUtteranceJson),
            R"({"id":"x","segments":[{"start_ms":2000.0,"end_ms":2040.0,"text":"b",)"
            R"("begins_word":true,"ends_word":false,"confidence":1.0,"end":"flush",)"
            R"("nbest":[{"text":"b","score":-1.5,)"
            "\"tokens\":[{\"text\":\"\u2581b\","
            R"("id":3,"frame":50,"start_ms":2000.0,"end_ms":2040.0,"confidence":1.0}],)"
            R"("words":[{"text":"b","start_ms":2000.0,"end_ms":2040.0,"confidence":1.0}]}]}],)"
            R"("audio_seconds":2.5})"
            "\n");
}

TEST_F(UtteranceFormatTest, JsonOfManyUtterances) {
  const std::string line = Format(OutputFormat::kUtteranceJson);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto object = nlohmann::json::parse(line);
  ASSERT_EQ(object["segments"].size(), 2U);
  EXPECT_EQ(object["segments"][0]["text"], "ab b");
  EXPECT_EQ(object["segments"][0]["end"], "endpoint");
  EXPECT_EQ(object["segments"][0]["confidence"], 0.5);
  EXPECT_EQ(object["segments"][1]["text"], "b");
  utterances_ = {MakeUtterance(0, UtteranceEnd::kFinish, b_, tokens_)};
  EXPECT_EQ(nlohmann::json::parse(Format(OutputFormat::kUtteranceJson))["segments"][0]["end"],
            "finish");
}

TEST_F(UtteranceFormatTest, JsonWithoutTextAndOfAFailure) {
  const auto failed = nlohmann::json::parse(Failed(OutputFormat::kUtteranceJson, 2));
  EXPECT_EQ(failed["segments"].size(), 2U);
  EXPECT_EQ(failed["error"], "a.flac: \"lost\"");
  EXPECT_FALSE(failed.contains("audio_seconds"));
  EXPECT_EQ(Failed(OutputFormat::kUtteranceJson, 0), "");
  utterances_ = {utterances_.back()};
  EXPECT_EQ(Format(OutputFormat::kUtteranceJson),
            "{\"id\":\"x\",\"segments\":[],\"audio_seconds\":2.5}\n");
}

TEST_F(UtteranceFormatTest, CtmHasTheWordsOfAllUtterances) {
  EXPECT_EQ(Format(OutputFormat::kCtm),
            "x 1 0.000 0.160 ab 0.250\n"
            "x 1 1.000 0.240 b 0.750\n"
            "x 1 2.000 0.040 b 1.000\n");
  EXPECT_EQ(Failed(OutputFormat::kCtm, 1),
            "x 1 0.000 0.160 ab 0.250\n"
            "x 1 1.000 0.240 b 0.750\n");
}

TEST(ParseFormatTest, Names) {
  EXPECT_EQ(ParseOutputFormat("text"), OutputFormat::kText);
  EXPECT_EQ(ParseOutputFormat("json"), OutputFormat::kJson);
  EXPECT_EQ(ParseOutputFormat("ctm"), OutputFormat::kCtm);
  EXPECT_EQ(ParseUtteranceFormat("text"), OutputFormat::kUtteranceText);
  EXPECT_EQ(ParseUtteranceFormat("json"), OutputFormat::kUtteranceJson);
  EXPECT_EQ(ParseUtteranceFormat("ctm"), OutputFormat::kCtm);
  EXPECT_EQ(ParseUtteranceFormat("srt"), OutputFormat::kSrt);
  EXPECT_EQ(ParseUtteranceFormat("vtt"), OutputFormat::kVtt);
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([] { ParseOutputFormat("vtt"); }),
            "--format=vtt needs --endpointing");
  for (const auto parse : {ParseOutputFormat, ParseUtteranceFormat}) {
    EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { parse("xml"); }),
              "--format is 'xml', expected text, json, ctm, srt or vtt");
  }
}

}  // namespace
}  // namespace runnel
