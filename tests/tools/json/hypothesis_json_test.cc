// The fields of hypotheses, tokens, words and hotwords, and their order.
#include "tools/json/hypothesis_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/tools/decode/formats/make_utterance.h"

namespace runnel {
namespace {

using testing::MakeHypothesis;
using testing::MakeTable;

class HypothesisJsonTest : public ::testing::Test {
 protected:
  std::string Write(size_t most, bool wants_tokens) const {
    std::string text;
    AppendHypotheses(nbest_, most, wants_tokens, table_, &text);
    return text;
  }

  const TokenTable table_ = MakeTable({"\u2581one", "\u2581\"2\""});
  std::vector<Hypothesis> nbest_ = {
      MakeHypothesis({{1, 0, 40, 0.5F, 0}, {2, 40, 80.00001, 0.12345F, int64_t{1} << 40}}, table_)};
};

TEST_F(HypothesisJsonTest, FieldsInOrder) {
  nbest_[0].hotwords = {{"one", 0, 40}};
  EXPECT_EQ(Write(1, true),
            "[{\"text\":\"one \\\"2\\\"\",\"score\":-1.5,"
            "\"tokens\":[{\"text\":\"\u2581one\",\"id\":1,\"frame\":0,"
            R"("start_ms":0.0,"end_ms":40.0,"confidence":0.5},)"
            "{\"text\":\"\u2581\\\"2\\\"\",\"id\":2,\"frame\":1099511627776,"
            R"("start_ms":40.0,"end_ms":80.0,"confidence":0.1235}],)"
            R"("words":[{"text":"one","start_ms":0.0,"end_ms":40.0,"confidence":0.5},)"
            R"({"text":"\"2\"","start_ms":40.0,"end_ms":80.0,"confidence":0.1235}],)"
            R"("hotwords":[{"phrase":"one","start_ms":0.0,"end_ms":40.0}]}])");
}

TEST_F(HypothesisJsonTest, AsManyHypothesesAndPartsAsWanted) {
  nbest_.resize(3, nbest_.front());
  for (const bool wants_tokens : {false, true}) {
    for (const size_t most : {size_t{0}, size_t{2}, size_t{9}}) {
      const auto written = nlohmann::json::parse(Write(most, wants_tokens));
      EXPECT_EQ(written.size(), std::min(most, nbest_.size()));
      for (const nlohmann::json& one : written) {
        EXPECT_EQ(one.contains("tokens"), wants_tokens);
        EXPECT_EQ(one["words"].size(), 2U);
        EXPECT_FALSE(one.contains("hotwords"));
      }
    }
  }
}

TEST_F(HypothesisJsonTest, TokensOfAnotherVocabularyAreRefused) {
  nbest_[0].tokens[0].id = 3;
  EXPECT_THROW(Write(1, true), std::invalid_argument);
}

}  // namespace
}  // namespace runnel
