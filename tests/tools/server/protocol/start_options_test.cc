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

// What a query may have: the options that the table offers to clients.
std::string Expected() {
  std::string names;
  for (const StreamOption& option : StreamOptionTable()) {
    const std::string_view need = option.needs.name;
    const bool is_rule = need == "endpointing" || need == "skip_silence";
    if (option.IsOf(OptionUser::kClient) && !is_rule) names += option.name + ", ";
  }
  return "expected " + names + "token, or one of those that need endpointing";
}

// Why an option of a query has no effect.
std::string Uselessness(const Query& query) {
  ChosenOptions options = Read(query).options;
  return ErrorMessage<std::invalid_argument>([&] { CompleteSearch(&options); });
}

std::string QueryError(const Query& query) {
  return ErrorMessage<std::runtime_error>([&] { Read(query); });
}

TEST(ReadStartQuery, LeavesMissingOptionsToTheModel) {
  const StartRequest start = Read({{"token", "secret"}});
  EXPECT_EQ(start.options.values.stream.sample_rate_hz, StreamOptions().sample_rate_hz);
  EXPECT_EQ(start.options.values.stream.chunk_size, StreamOptions::kModelDefault);
  EXPECT_EQ(start.options.values.stream.left_context, StreamOptions::kModelDefault);
  EXPECT_EQ(start.options.values.stream.search.method, SearchOptions().method);
  EXPECT_EQ(start.options.values.stream.search.beam_size, SearchOptions().beam_size);
  EXPECT_EQ(start.options.values.stream.nbest, 1);
  EXPECT_TRUE(start.options.names.empty());
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
    EXPECT_EQ(start.options.values.stream.search.method, SearchMethod::kPrefixBeam);
    EXPECT_TRUE(start.options.Has("search"));
    EXPECT_EQ(start.options.values.stream.search.beam_size, 7);
    EXPECT_TRUE(start.options.Has("beam_size"));
    ASSERT_NE(start.options.values.stream.search.hotwords, nullptr);
    EXPECT_EQ(start.options.values.stream.search.hotwords->text(), "two :3\nzero :2\n");
    EXPECT_EQ(start.options.values.stream.nbest, 3);
    EXPECT_EQ(start.options.values.stream.chunk_size, StreamOptions::kWholeUtterance);
    EXPECT_EQ(start.options.values.stream.left_context, 0);
  }
}

TEST(ReadStartQuery, EndpointingIsTheObjectOfAStartMessage) {
  EXPECT_FALSE(Read({}).options.values.stream.endpoints.enabled);
  EXPECT_FALSE(Read({{"endpointing", "false"}}).options.values.stream.endpoints.enabled);
  EXPECT_TRUE(Read({{"endpointing", "true"}}).options.values.stream.endpoints.enabled);
  const EndpointOptions endpoints = Read({{"endpointing", "true"},
                                          {"endpoint_silence_s", "0.5"},
                                          {"endpoint_initial_silence_s", "3"},
                                          {"endpoint_max_utterance_s", "60"},
                                          {"endpoint_blank_probability", "0.9"},
                                          {"endpoint_reset_encoder", "true"},
                                          {"skip_silence", "true"}})
                                        .options.values.stream.endpoints;
  EXPECT_TRUE(endpoints.enabled);
  EXPECT_EQ(endpoints.rules[0].min_silence_s, 3);
  EXPECT_EQ(endpoints.rules[1].min_silence_s, 0.5);
  EXPECT_EQ(endpoints.rules[2].min_utterance_s, 60);
  EXPECT_EQ(endpoints.silence_blank_probability, 0.9);
  EXPECT_TRUE(endpoints.reset_encoder);
  EXPECT_TRUE(endpoints.skip_silence);
  EXPECT_EQ(QueryError({{"endpointing", "yes"}}),
            "query: endpointing is \"yes\", expected true or false");
  EXPECT_EQ(QueryError({{"endpointing", "1"}}), "query: endpointing is 1, expected true or false");
  EXPECT_EQ(QueryError({{"endpoint_silence_s", "0"}}),
            "query: endpoint_silence_s is 0, expected 0.1 to 86400 s");
  EXPECT_EQ(QueryError({{"endpoint_silence_s", "abc"}}),
            "query: endpoint_silence_s is \"abc\", expected a number");
  EXPECT_EQ(QueryError({{"endpoint_reset_encoder", "1"}}),
            "query: endpoint_reset_encoder is 1, expected true or false");
  EXPECT_EQ(QueryError({{"endpoint_silence", "1"}}),
            "query: 'endpoint_silence' is no option of a recording, " + Expected());
  EXPECT_EQ(QueryError({{"endpoint_silence_s", "1"}, {"endpoint_silence_s", "1"}}),
            "query: 'endpoint_silence_s' cannot be given twice");
  EXPECT_EQ(QueryError({{"skip_silence", "true"}, {"endpoint_skip_silence", "true"}}),
            "query: 'endpoint_skip_silence' cannot be given twice");
  EXPECT_EQ(Uselessness({{"endpointing", "false"}, {"endpoint_silence_s", "1"}}),
            "endpoint_silence_s needs endpointing=true");
}

TEST(ReadStartQuery, HeadRescoringAndLanguage) {
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
    EXPECT_EQ(start.options.values.stream.search.method, SearchMethod::kModifiedBeam);
    EXPECT_EQ(start.options.values.stream.search.head, Head::kTransducer);
    EXPECT_EQ(start.options.values.stream.search.max_symbols, 3);
    EXPECT_EQ(start.options.values.stream.search.ctc_weight, 0.25);
    EXPECT_TRUE(start.options.values.stream.search.rescoring.enabled);
    EXPECT_EQ(start.options.values.stream.search.rescoring.first_pass_weight, 2);
    EXPECT_EQ(start.options.values.stream.search.rescoring.reverse_weight, 0.5);
    EXPECT_EQ(start.options.values.stream.language, "7");
  }
  EXPECT_EQ(Read({{"head", "ctc"}}).options.values.stream.search.head, Head::kCtc);
  EXPECT_TRUE(Read({{"rescoring", "false"}}).options.Has("rescoring"));
}

TEST(ReadStartQuery, RefusesWrongHeadsWeightsAndLanguages) {
  EXPECT_EQ(QueryError({{"head", "rnnt"}}), "query: head is \"rnnt\", expected ctc or transducer");
  EXPECT_EQ(QueryError({{"max_symbols", "-1"}}), "query: max_symbols is -1, expected 0 to 1000");
  EXPECT_EQ(QueryError({{"ctc_weight", "1.5"}}), "query: ctc_weight is 1.5, expected 0 to 1");
  EXPECT_EQ(QueryError({{"rescoring", "1"}}), "query: rescoring is 1, expected true or false");
  EXPECT_EQ(QueryError({{"rescoring", "true"}, {"first_pass_weight", "101"}}),
            "query: first_pass_weight is 101, expected 0 to 100");
  EXPECT_EQ(QueryError({{"rescoring", "true"}, {"reverse_weight", "-0.5"}}),
            "query: reverse_weight is -0.5, expected 0 to 1");
  EXPECT_EQ(Uselessness({{"first_pass_weight", "1"}}), "first_pass_weight needs rescoring=true");
  EXPECT_EQ(Uselessness({{"rescoring", "false"}, {"reverse_weight", "0.5"}}),
            "reverse_weight needs rescoring=true");
  const std::string error = QueryError({{"language", std::string(1000, 'x')}});
  EXPECT_NE(error.find("expected at most 64 bytes"), std::string::npos) << error;
  EXPECT_LT(error.size(), 300U);
}

TEST(ReadStartQuery, HotwordsGoWithEitherBeam) {
  const auto method = [](const std::string& search) {
    return Read({{"hotwords", "two"}, {"search", search}}).options.values.stream.search.method;
  };
  EXPECT_EQ(method("beam"), SearchMethod::kPrefixBeam);
  EXPECT_EQ(method("modified_beam"), SearchMethod::kModifiedBeam);
}

// A list that looks like a number is text like any other.
TEST(ReadStartQuery, HotwordsAreText) {
  const TokenTable digits("<blank> 0\n\u25819 1\n1 2\n", 3, 0, "units");
  const StartRequest start = ReadStartQuery({{"hotwords", "911"}}, digits);
  EXPECT_FALSE(start.options.Has("search"));
  EXPECT_TRUE(start.options.Has("hotwords"));
  ASSERT_NE(start.options.values.stream.search.hotwords, nullptr);
  EXPECT_EQ(start.options.values.stream.search.hotwords->phrase(0), "911");
  EXPECT_EQ(Uselessness({{"hotwords", "two"}, {"search", "greedy"}}), "hotwords needs search=beam");
  EXPECT_EQ(Uselessness({{"hotword_score", "1"}}), "hotword_score needs hotwords");
  EXPECT_EQ(QueryError({{"hotwords", "two"}, {"hotword_score", "101"}}),
            "query: hotword_score is 101, expected -100 to 100");
  EXPECT_EQ(QueryError({{"hotwords", ""}}), "hotwords: lists no phrases");
  EXPECT_EQ(QueryError({{"hotwords", "two"}, {"hotwords", "two"}}),
            "query: 'hotwords' cannot be given twice");
  EXPECT_EQ(QueryError({{"hotwords", "two\nx\xFF"}}).substr(0, 12), "hotwords:2: ");
}

TEST(ReadStartQuery, RefusesValuesOutOfRangeOrOfTheWrongType) {
  EXPECT_EQ(QueryError({{"chunk_size", "0"}}),
            "query: chunk_size is 0, expected 1 to 1000000 encoder frames, -1 (the whole "
            "utterance) or -2 (the model's)");
  EXPECT_EQ(
      QueryError({{"chunk_size", "4.5"}}),
      "query: chunk_size is 4.5, expected an integer, 1 to 1000000 encoder frames, -1 (the whole "
      "utterance) or -2 (the model's)");
  EXPECT_EQ(
      QueryError({{"left_context", "many"}}),
      "query: left_context is \"many\", expected an integer, 0 to 1000000 encoder frames, -1 (all) "
      "or -2 (the model's)");
  EXPECT_EQ(QueryError({{"nbest", "0"}}), "query: nbest is 0, expected 1 to 10000");
  EXPECT_EQ(QueryError({{"nbest", ""}}), "query: nbest is \"\", expected an integer, 1 to 10000");
  EXPECT_EQ(QueryError({{"nbest", "18446744073709551615"}}),
            "query: nbest is 18446744073709551615, expected an integer, 1 to 10000");
  EXPECT_EQ(QueryError({{"search", "guess"}}),
            "query: search is \"guess\", expected greedy, beam or modified_beam");
  EXPECT_EQ(QueryError({{"search", "1"}}), "query: search is 1, expected a string");
  EXPECT_EQ(QueryError({{"search", "\xFF\""}}),
            "query: search is \"\uFFFD\\\"\", expected greedy, beam or modified_beam");
}

TEST(ReadStartQuery, RefusesOtherFieldsAndRepeatedOnes) {
  const std::string expected = Expected();
  for (const std::string name : {"sample_rate", "type", "version", "resume", "Nbest", ""}) {
    EXPECT_EQ(QueryError({{name, "1"}}),
              "query: '" + name + "' is no option of a recording, " + expected);
  }
  EXPECT_EQ(QueryError({{std::string(1000, 'x'), "1"}}),
            "query: '" + std::string(80, 'x') + "...' is no option of a recording, " + expected);
  EXPECT_EQ(QueryError({{"nbest", "2"}, {"nbest", "2"}}), "query: 'nbest' cannot be given twice");
  EXPECT_EQ(Read({{"token", "a"}, {"token", "b"}}).options.values.stream.nbest, 1);
}

}  // namespace
}  // namespace runnel::server
