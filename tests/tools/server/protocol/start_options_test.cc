// The options of streams, read from queries and from start messages.
#include "tools/server/protocol/start_options.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "encoder/json/json_section.h"
#include "runtime/hotwords.h"
#include "tests/support/error_message.h"
#include "tests/tools/server/dialects/protocol_conversation.h"

namespace runnel::server {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;
using runnel::testing::ErrorMessage;
using testing::Units;

StartRequest Read(const Query& query) { return ReadStartQuery(query, Units()); }

std::string QueryError(const Query& query) {
  return ErrorMessage<std::runtime_error>([&] { Read(query); });
}

TEST(ReadStartQuery, LeavesMissingOptionsToTheModel) {
  const StartRequest start = Read({{"token", "secret"}});
  EXPECT_EQ(start.options.sample_rate_hz, StreamOptions().sample_rate_hz);
  EXPECT_EQ(start.options.chunk_size, StreamOptions::kModelDefault);
  EXPECT_EQ(start.options.left_context, StreamOptions::kModelDefault);
  EXPECT_EQ(start.options.search.method, SearchOptions().method);
  EXPECT_EQ(start.options.search.beam_size, SearchOptions().beam_size);
  EXPECT_FALSE(start.names_search);
  EXPECT_FALSE(start.names_beam_size);
  EXPECT_EQ(start.options.nbest, 1);
}

TEST(ReadStartQuery, GivesWhatTheSameFieldsOfAStartMessageGive) {
  const StartRequest of_query = Read({{"search", "beam"},
                                      {"beam_size", "7"},
                                      {"nbest", "3"},
                                      {"chunk_size", "-1"},
                                      {"left_context", "0"},
                                      {"hotwords", "two :3\r\n\nzero"},
                                      {"hotword_score", "2"}});
  const nlohmann::json object = nlohmann::json::parse(
      R"({"search":"beam","beam_size":7,"nbest":3,"chunk_size":-1,"left_context":0,
          "hotwords":"two :3\r\n\nzero","hotword_score":2})");
  JsonSection fields(object, "", "start");
  StartRequest of_message;
  ReadStartOptions(&fields, Units(), &of_message);
  fields.CheckAllTaken();
  for (const StartRequest& start : {of_query, of_message}) {
    EXPECT_EQ(start.options.search.method, SearchMethod::kPrefixBeam);
    EXPECT_TRUE(start.names_search);
    EXPECT_EQ(start.options.search.beam_size, 7);
    EXPECT_TRUE(start.names_beam_size);
    ASSERT_NE(start.options.search.hotwords, nullptr);
    EXPECT_EQ(start.options.search.hotwords->text(), "two :3\nzero :2\n");
    EXPECT_EQ(start.options.nbest, 3);
    EXPECT_EQ(start.options.chunk_size, StreamOptions::kWholeUtterance);
    EXPECT_EQ(start.options.left_context, 0);
  }
}

TEST(ReadStartQuery, EndpointingIsTheObjectOfAStartMessage) {
  EXPECT_FALSE(Read({}).options.endpoints.enabled);
  EXPECT_FALSE(Read({{"endpointing", "false"}}).options.endpoints.enabled);
  EXPECT_TRUE(Read({{"endpointing", "true"}}).options.endpoints.enabled);
  for (const Query& more : {Query{}, Query{{"endpointing", "true"}}}) {
    Query query = {{"endpoint_silence_s", "0.5"},      {"endpoint_initial_silence_s", "3"},
                   {"endpoint_max_utterance_s", "60"}, {"endpoint_blank_probability", "0.9"},
                   {"endpoint_reset_encoder", "true"}, {"endpoint_skip_silence", "true"}};
    query.insert(query.end(), more.begin(), more.end());
    const EndpointOptions endpoints = Read(query).options.endpoints;
    EXPECT_TRUE(endpoints.enabled);
    EXPECT_EQ(endpoints.rules[0].min_silence_s, 3);
    EXPECT_EQ(endpoints.rules[1].min_silence_s, 0.5);
    EXPECT_EQ(endpoints.rules[2].min_utterance_s, 60);
    EXPECT_EQ(endpoints.silence_blank_probability, 0.9);
    EXPECT_TRUE(endpoints.reset_encoder);
    EXPECT_TRUE(endpoints.skip_silence);
  }
  EXPECT_EQ(QueryError({{"endpointing", "yes"}}),
            "query: endpointing is \"yes\", expected true or false");
  EXPECT_EQ(QueryError({{"endpointing", "1"}}), "query: endpointing is 1, expected true or false");
  EXPECT_EQ(QueryError({{"endpoint_silence_s", "0"}}),
            "query: endpoint_silence_s is 0, expected a number from 0.1 to 86400.0");
  EXPECT_EQ(QueryError({{"endpoint_silence_s", "abc"}}),
            "query: endpoint_silence_s is \"abc\", expected a number");
  EXPECT_EQ(QueryError({{"endpoint_reset_encoder", "1"}}),
            "query: endpoint_reset_encoder is 1, expected true or false");
  EXPECT_EQ(QueryError({{"endpoint_silence", "1"}}),
            "query: endpoint_silence is a field this version does not know");
  EXPECT_EQ(QueryError({{"endpoint_silence_s", "1"}, {"endpoint_silence_s", "1"}}),
            "query: 'endpoint_silence_s' cannot be given twice");
  EXPECT_EQ(QueryError({{"endpointing", "false"}, {"endpoint_silence_s", "1"}}),
            "query: fields endpoint_... need endpointing=true");
}

TEST(ReadStartQuery, HeadRescoringAndLanguage) {
  const ModelChoices none = Read({}).choices;
  EXPECT_FALSE(none.head || none.max_symbols || none.ctc_weight || none.rescoring || none.language);
  const StartRequest of_query = Read({{"search", "modified_beam"},
                                      {"head", "transducer"},
                                      {"max_symbols", "3"},
                                      {"ctc_weight", "0.25"},
                                      {"rescoring", "true"},
                                      {"first_pass_weight", "2"},
                                      {"reverse_weight", "0.5"},
                                      {"language", "7"}});
  const nlohmann::json object = nlohmann::json::parse(
      R"({"search":"modified_beam","head":"transducer","max_symbols":3,"ctc_weight":0.25,
          "rescoring":true,"first_pass_weight":2,"reverse_weight":0.5,"language":"7"})");
  JsonSection fields(object, "", "start");
  StartRequest of_message;
  ReadStartOptions(&fields, Units(), &of_message);
  fields.CheckAllTaken();
  for (const StartRequest& start : {of_query, of_message}) {
    EXPECT_EQ(start.options.search.method, SearchMethod::kModifiedBeam);
    EXPECT_EQ(start.choices.head, Head::kTransducer);
    EXPECT_EQ(start.choices.max_symbols, 3);
    EXPECT_EQ(start.choices.ctc_weight, 0.25);
    ASSERT_TRUE(start.choices.rescoring.has_value());
    EXPECT_TRUE(start.choices.rescoring->enabled);
    EXPECT_EQ(start.choices.rescoring->first_pass_weight, 2);
    EXPECT_EQ(start.choices.rescoring->reverse_weight, 0.5);
    EXPECT_EQ(start.choices.language, "7");
  }
  EXPECT_EQ(Read({{"head", "ctc"}}).choices.head, Head::kCtc);
  EXPECT_FALSE(Read({{"rescoring", "false"}}).choices.rescoring.value().enabled);
}

TEST(ReadStartQuery, RefusesWrongHeadsWeightsAndLanguages) {
  EXPECT_EQ(QueryError({{"head", "rnnt"}}),
            "query: head is \"rnnt\", expected one of \"ctc\", \"transducer\"");
  EXPECT_EQ(QueryError({{"max_symbols", "-1"}}),
            "query: max_symbols is -1, expected an integer from 0");
  EXPECT_EQ(QueryError({{"ctc_weight", "1.5"}}),
            "query: ctc_weight is 1.5, expected a number from 0 to 1");
  EXPECT_EQ(QueryError({{"rescoring", "1"}}), "query: rescoring is 1, expected true or false");
  EXPECT_EQ(QueryError({{"rescoring", "true"}, {"first_pass_weight", "101"}}),
            "query: first_pass_weight is 101, expected a number from 0 to 100");
  EXPECT_EQ(QueryError({{"rescoring", "true"}, {"reverse_weight", "-0.5"}}),
            "query: reverse_weight is -0.5, expected a number from 0 to 1");
  EXPECT_EQ(QueryError({{"first_pass_weight", "1"}}),
            "query: first_pass_weight is 1, expected rescoring with it");
  EXPECT_EQ(QueryError({{"rescoring", "false"}, {"reverse_weight", "0.5"}}),
            "query: reverse_weight is 0.5, expected rescoring with it");
  const std::string error = QueryError({{"language", std::string(1000, 'x')}});
  EXPECT_NE(error.find("expected at most 64 bytes"), std::string::npos) << error;
  EXPECT_LT(error.size(), 300U);
}

TEST(ReadStartQuery, HotwordsGoWithEitherBeam) {
  const auto method = [](const std::string& search) {
    return Read({{"hotwords", "two"}, {"search", search}}).options.search.method;
  };
  EXPECT_EQ(method("beam"), SearchMethod::kPrefixBeam);
  EXPECT_EQ(method("modified_beam"), SearchMethod::kModifiedBeam);
}

// A list that looks like a number is text like any other.
TEST(ReadStartQuery, HotwordsAreText) {
  const TokenTable digits("<blank> 0\n\u25819 1\n1 2\n", 3, 0, "units");
  const StartRequest start = ReadStartQuery({{"hotwords", "911"}}, digits);
  EXPECT_FALSE(start.names_search);
  EXPECT_TRUE(start.needs_beam);
  ASSERT_NE(start.options.search.hotwords, nullptr);
  EXPECT_EQ(start.options.search.hotwords->phrase(0), "911");
  EXPECT_EQ(QueryError({{"hotwords", "two"}, {"search", "greedy"}}),
            "query: search is \"greedy\", expected beam with hotwords");
  EXPECT_EQ(QueryError({{"hotword_score", "1"}}),
            "query: hotword_score is 1, expected hotwords with it");
  EXPECT_EQ(QueryError({{"hotwords", "two"}, {"hotword_score", "101"}}),
            "query: hotword_score is 101, expected a number from -100 to 100");
  EXPECT_EQ(QueryError({{"hotwords", ""}}), "hotwords: lists no phrases");
  EXPECT_EQ(QueryError({{"hotwords", "two"}, {"hotwords", "two"}}),
            "query: 'hotwords' cannot be given twice");
  EXPECT_EQ(QueryError({{"hotwords", "two\nx\xFF"}}).substr(0, 12), "hotwords:2: ");
}

TEST(ReadStartQuery, RefusesValuesOutOfRangeOrOfTheWrongType) {
  EXPECT_EQ(QueryError({{"chunk_size", "0"}}),
            "query: chunk_size is 0, expected -1 (all) or an integer from 1");
  EXPECT_EQ(QueryError({{"chunk_size", "4.5"}}),
            "query: chunk_size is 4.5, expected an integer from -1");
  EXPECT_EQ(QueryError({{"left_context", "many"}}),
            "query: left_context is \"many\", expected an integer from -1");
  EXPECT_EQ(QueryError({{"nbest", "0"}}), "query: nbest is 0, expected an integer from 1");
  EXPECT_EQ(QueryError({{"nbest", ""}}), "query: nbest is \"\", expected an integer from 1");
  EXPECT_EQ(QueryError({{"nbest", "18446744073709551615"}}),
            "query: nbest is 18446744073709551615, expected an integer from 1 to 2147483647");
  EXPECT_EQ(QueryError({{"search", "guess"}}),
            "query: search is \"guess\", expected one of \"beam\", \"greedy\", \"modified_beam\"");
  EXPECT_EQ(QueryError({{"search", "1"}}), "query: search is 1, expected a string");
  EXPECT_EQ(
      QueryError({{"search", "\xFF\""}}),
      "query: search is \"\uFFFD\\\"\", expected one of \"beam\", \"greedy\", \"modified_beam\"");
}

TEST(ReadStartQuery, LeavesLargeValuesToTheLimitsOfTheServer) {
  const StreamOptions options =
      Read({{"nbest", "2147483647"}, {"beam_size", "100000"}, {"search", "beam"}}).options;
  EXPECT_EQ(options.nbest, 2147483647);
  EXPECT_EQ(options.search.beam_size, 100000);
}

TEST(ReadStartQuery, RefusesOtherFieldsAndRepeatedOnes) {
  const std::string expected =
      "expected chunk_size, left_context, search, beam_size, nbest, head, max_symbols, ctc_weight, "
      "rescoring, first_pass_weight, reverse_weight, language, hotwords, hotword_score, "
      "endpointing, token, or endpoint_...";
  for (const std::string name : {"sample_rate", "type", "version", "resume", "Nbest", ""}) {
    EXPECT_EQ(QueryError({{name, "1"}}),
              "query: '" + name + "' is no option of a recording, " + expected);
  }
  EXPECT_EQ(QueryError({{std::string(1000, 'x'), "1"}}),
            "query: '" + std::string(80, 'x') + "...' is no option of a recording, " + expected);
  EXPECT_EQ(QueryError({{"nbest", "2"}, {"nbest", "2"}}), "query: 'nbest' cannot be given twice");
  EXPECT_EQ(Read({{"token", "a"}, {"token", "b"}}).options.nbest, 1);
}

}  // namespace
}  // namespace runnel::server
