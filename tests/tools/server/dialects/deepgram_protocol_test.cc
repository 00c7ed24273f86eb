#include "tools/server/dialects/deepgram_protocol.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hotwords.h"
#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/dialects/protocol_registry.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

using nlohmann::json;
using testing::Binary;
using testing::EndedTwo;
using testing::ExpectConversation;
using testing::FinalTwoZero;
using testing::Only;
using testing::OnlyMessage;
using testing::Pcm16;
using testing::RunningZe;
using testing::Shown;
using testing::Text;
using testing::TwoZero;
using testing::Units;

using Query = std::vector<std::pair<std::string, std::string>>;

constexpr char kFinalize[] = R"({"type":"Finalize"})";
constexpr char kCloseStream[] = R"({"type":"CloseStream"})";
constexpr char kKeepAlive[] = R"({"type":"KeepAlive"})";

Opening OpeningWith(Query query, const std::string& path = "/v1/listen") {
  Opening opening;
  opening.session_id = "5f1c";
  opening.path = path;
  opening.query = std::move(query);
  return opening;
}

const Query kLinear16 = {{"model", "nova-3"}, {"encoding", "linear16"}, {"sample_rate", "8000"}};

std::unique_ptr<Protocol> Open(const Query& more = {}) {
  Query query = kLinear16;
  query.insert(query.end(), more.begin(), more.end());
  return std::make_unique<DeepgramProtocol>(OpeningWith(std::move(query)), Units());
}

// Starts the stream. `text_tokens`: of its texts.
void StartIt(Protocol* protocol, const TokenTable& text_tokens = Units()) {
  const auto requests = protocol->Read(Binary(Pcm16({1, 2, 3, 4, 5, 6, 7, 8})));
  EXPECT_EQ(Shown(requests), "start; audio 8");
  SessionInfo info;
  info.options = std::get<StartRequest>(requests.front()).options.values.stream;
  info.text_tokens = &text_tokens;
  info.session_id = "5f1c";
  info.model_name = "digits";
  info.options.sample_rate_hz = 8000;
  EXPECT_TRUE(protocol->OnReady(info).empty());
}

std::vector<json> Parsed(const std::vector<std::string>& texts) {
  std::vector<json> messages;
  for (const std::string& text : texts) messages.push_back(json::parse(text));
  return messages;
}

// "Results final speech_final: two", "Results: ze", "UtteranceEnd 0.2".
std::string Summary(const std::vector<std::string>& texts) {
  std::string summary;
  for (const json& message : Parsed(texts)) {
    std::string line = message["type"];
    if (line == "Results") {
      for (const char* flag : {"is_final", "speech_final", "from_finalize"}) {
        if (message[flag].get<bool>()) line += std::string(" ") + flag;
      }
      line += ": " + message["channel"]["alternatives"][0]["transcript"].get<std::string>();
    }
    if (line == "UtteranceEnd") line += " " + message["last_word_end"].dump();
    if (line == "SpeechStarted") line += " " + message["timestamp"].dump();
    summary += (summary.empty() ? "" : "; ") + line;
  }
  return summary;
}

LiveUpdate UpdateWith(std::vector<Utterance> utterances, LiveUpdate running) {
  running.utterances = std::move(utterances);
  return running;
}

LiveUpdate Silence(double audio_ms, int64_t utterance_index = 0) {
  LiveUpdate update;
  update.utterance_index = utterance_index;
  update.audio_ms = audio_ms;
  return update;
}

TEST(DeepgramProtocol, IsChosenByThePath) {
  struct Case {
    std::string path;
    bool is_deepgram;
  };
  for (const Case& c : {Case{"/v1/listen", true}, Case{"/v1/listen/", false},
                        Case{"/v1/stream", false}, Case{"/", false}}) {
    const auto protocol = ChooseProtocol(OpeningWith(kLinear16, c.path), Units());
    EXPECT_EQ(protocol != nullptr && std::string(protocol->name()) == "deepgram", c.is_deepgram);
  }
}

TEST(DeepgramProtocol, AnswersTheOpening) {
  struct Case {
    std::vector<std::string> offered;
    std::string chosen;
  };
  for (const Case& c :
       std::vector<Case>{{{}, ""},
                         {{"token", "secret"}, "token"},
                         {{"bearer", "secret", "x-deepgram-session-id", "1"}, "bearer"},
                         {{"other"}, ""}}) {
    Opening opening = OpeningWith(kLinear16);
    opening.subprotocols = c.offered;
    const DeepgramProtocol protocol(opening, Units());
    EXPECT_EQ(protocol.subprotocol(), c.chosen);
    EXPECT_EQ(protocol.headers(), (Query{{"dg-request-id", "5f1c"}}));
  }
}

TEST(DeepgramProtocol, RefusesAnOpening) {
  EXPECT_THROW(ChooseProtocol(OpeningWith({{"encoding", "flac"}}), Units()), ClientMistake);
  EXPECT_THROW(ChooseProtocol(OpeningWith(kLinear16, "/v2/listen"), Units()), ClientMistake);
}

TEST(DeepgramProtocol, AConversation) {
  const auto protocol = Open();
  ExpectConversation(protocol.get(), {{Text(kKeepAlive), ""},
                                      {Binary(""), ""},
                                      {Binary("ab"), "start; audio 1"},
                                      {Binary("abc"), "audio 1"},
                                      {Text(kKeepAlive), ""},
                                      {Text(R"({"type":"Configure","processors":{}})"), ""},
                                      {Binary("defgh"), "audio 3"},
                                      {Text(kFinalize), "flush"},
                                      {Text(kCloseStream), "finish"},
                                      {Text(kCloseStream), ""},
                                      {Binary("ab"), ""}});
}

TEST(DeepgramProtocol, WithoutAudio) {
  const auto protocol = Open();
  const json finalized = json::parse(Only<ImmediateReply>(protocol->Read(Text(kFinalize))).text);
  EXPECT_EQ(finalized["from_finalize"], true);
  EXPECT_EQ(finalized["duration"], 0);
  ExpectConversation(protocol.get(), {{Text(kCloseStream), "start; finish"}});
  DeepgramProtocol container(OpeningWith({}), Units());
  ExpectConversation(&container, {{Text(kCloseStream), "start; finish"}});
}

TEST(DeepgramProtocol, AWavHeaderStatesTheRate) {
  const std::string header(
      "RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x80\x3E\0\0\0\x7D\0\0\2\0\x10\0"
      "data\4\0\0\0",
      44);
  for (const Query& query : {kLinear16, Query{}}) {
    DeepgramProtocol protocol(OpeningWith(query), Units());
    EXPECT_TRUE(protocol.Read(Binary(header.substr(0, 10))).empty());
    EXPECT_TRUE(protocol.Read(Binary(header.substr(10, 10))).empty());
    const auto requests = protocol.Read(Binary(header.substr(20) + "abcd"));
    EXPECT_EQ(Shown(requests), "start; audio 2");
    EXPECT_EQ(std::get<StartRequest>(requests[0]).options.values.stream.sample_rate_hz, 16000);
  }
}

TEST(DeepgramProtocol, Mistakes) {
  struct Case {
    Query query;
    std::vector<testing::Turn> turns;
    std::string reason;
  };
  for (const Case& c : std::vector<Case>{
           {{}, {{Binary(".snd\0\0"), "error bad_message"}}, "DATA-0000: the audio is AU"},
           {{},
            {{Binary("RIFF"), ""}, {Text(kCloseStream), "error bad_message"}},
            "DATA-0000: the audio ends within its header"},
           {kLinear16, {{Text("{"), "error bad_json"}}, "DATA-0000: message: "},
           {kLinear16,
            {{Text(R"({"type":"closestream"})"), "error bad_message"}},
            "DATA-0000: type is closestream, expected KeepAlive"},
           {kLinear16, {{Text("{}"), "error bad_message"}}, "DATA-0000: a text message without"}}) {
    DeepgramProtocol protocol(OpeningWith(c.query), Units());
    std::vector<ClientRequest> requests;
    for (const testing::Turn& turn : c.turns) {
      requests = protocol.Read(turn.message);
      EXPECT_EQ(Shown(requests), turn.expected);
    }
    const auto error = Only<ProtocolError>(requests);
    EXPECT_TRUE(protocol.OnError(error).empty());
    const Closing closing = protocol.CloseAfter(error);
    EXPECT_EQ(closing.code, 1008);
    EXPECT_EQ(closing.reason.substr(0, c.reason.size()), c.reason);
    EXPECT_LE(closing.reason.size(), 123U);
    ExpectConversation(&protocol, {{Text(kCloseStream), ""}, {Binary("ab"), ""}});
  }
}

TEST(DeepgramProtocol, ClosingFollowsTheError) {
  struct Case {
    ErrorCode code;
    int closing;
    std::string reason;
  };
  const auto protocol = Open();
  for (const Case& c : {Case{ErrorCode::kIdleTimeout, 1011, "NET-0001: why"},
                        Case{ErrorCode::kMessageTooLarge, 1009, "DATA-0000: why"},
                        Case{ErrorCode::kInternal, 1011, "internal: why"},
                        Case{ErrorCode::kDraining, 1013, "draining: why"},
                        Case{ErrorCode::kAudioLimit, 1008, "audio_limit: why"}}) {
    const Closing closing = protocol->CloseAfter({c.code, "why"});
    EXPECT_EQ(closing.code, c.closing);
    EXPECT_EQ(closing.reason, c.reason);
  }
}

TEST(DeepgramProtocol, InterimResult) {
  const auto protocol = Open({{"interim_results", "true"}, {"punctuate", "true"}});
  StartIt(protocol.get());
  const json results = OnlyMessage(protocol->OnUpdate(TwoZero()));
  EXPECT_EQ(results,
            json::parse(R"({"type":"Results","channel_index":[0,1],"start":0.0,"duration":0.64,
                "is_final":false,"speech_final":false,"from_finalize":false,
                "channel":{"alternatives":[{"transcript":"two zero","confidence":0.75,"words":[
                  {"word":"two","start":0.04,"end":0.2,"confidence":0.75,"punctuated_word":"two"},
                  {"word":"zero","start":0.32,"end":0.48,"confidence":0.75,
                   "punctuated_word":"zero"}]}]},
                "metadata":{"request_id":"5f1c","model_uuid":"digits",
                  "model_info":{"name":"digits","version":"","arch":"runnel"}}})"));
}

TEST(DeepgramProtocol, FinalResultsAndMetadata) {
  const auto protocol = Open();
  StartIt(protocol.get());
  EXPECT_TRUE(protocol->OnUpdate(TwoZero()).empty());
  const std::vector<json> messages = Parsed(protocol->OnUpdate(FinalTwoZero()));
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0]["is_final"], true);
  EXPECT_EQ(messages[0]["speech_final"], true);
  EXPECT_EQ(messages[0]["duration"], 1.0);
  const json& best = messages[0]["channel"]["alternatives"][0];
  EXPECT_EQ(best["transcript"], "two zero");
  EXPECT_EQ(best["words"][1],
            json::parse(R"({"word":"zero","start":0.32,"end":0.48,"confidence":0.75})"));
  EXPECT_EQ(messages[1]["type"], "Metadata");
  EXPECT_EQ(messages[1]["transaction_key"], "deprecated");
  EXPECT_EQ(messages[1]["request_id"], "5f1c");
  // Of the bytes 01 00 02 00 ... 08 00, by sha256sum.
  EXPECT_EQ(messages[1]["sha256"],
            "e3fd6a0a483c5b121ce5f2ca94a5a3b5115f6a02a4605cd7c903f9b76f3ec7db");
  EXPECT_EQ(messages[1]["created"].get<std::string>().size(), 20U);
  EXPECT_EQ(messages[1]["duration"], 0.001);  // 8 samples at 8 kHz
  EXPECT_EQ(messages[1]["channels"], 1);
}

TEST(DeepgramProtocol, StretchesFollowEachOther) {
  const auto protocol = Open({{"interim_results", "true"}});
  StartIt(protocol.get());
  const std::vector<json> messages =
      Parsed(protocol->OnUpdate(UpdateWith({EndedTwo(0)}, RunningZe(1))));
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0]["start"], 0.0);
  EXPECT_EQ(messages[0]["duration"], 0.6);
  EXPECT_EQ(messages[1]["start"], 0.6);
  EXPECT_NEAR(messages[1]["duration"].get<double>(), 1.04, 1e-9);
  EXPECT_EQ(messages[1]["channel"]["alternatives"][0]["transcript"], "ze");
}

TEST(DeepgramProtocol, WordsOfInterimResultsShowSpecialTokensAsTheTextDoes) {
  const auto protocol = Open({{"interim_results", "true"}});
  const TokenTable shown = testing::UnitsWithTag().WithSpecialTokens();
  StartIt(protocol.get(), shown);
  const json alternative =
      OnlyMessage(protocol->OnUpdate(testing::RunningTag()))["channel"]["alternatives"][0];
  EXPECT_EQ(alternative["transcript"], "<en> ze");
  ASSERT_EQ(alternative["words"].size(), 2U);
  EXPECT_EQ(alternative["words"][0]["word"], "<en>");
}

TEST(DeepgramProtocol, EndpointsAndFinalize) {
  Utterance cut = EndedTwo(0);
  cut.searched_ms = 300;  // by its length: its last token began 260 ms before
  Utterance by_token = cut;
  by_token.end = UtteranceEnd::kEndToken;
  Utterance flushed = EndedTwo(0);
  flushed.end = UtteranceEnd::kFinalize;
  LiveUpdate empty;
  empty.num_empty_finalizations = 2;
  struct Case {
    Query query;
    LiveUpdate update;
    std::string expected;
  };
  for (const Case& c : std::vector<Case>{
           {{{"endpointing", "500"}},
            UpdateWith({EndedTwo(0)}, Silence(600, 1)),
            "Results is_final speech_final: two"},
           {{{"endpointing", "600"}}, UpdateWith({cut}, Silence(600, 1)), "Results is_final: two"},
           {{{"endpointing", "500"}},
            UpdateWith({by_token}, Silence(600, 1)),
            "Results is_final speech_final: two"},
           {{{"endpointing", "false"}},
            UpdateWith({EndedTwo(0)}, Silence(600, 1)),
            "Results is_final: two"},
           {{}, UpdateWith({flushed}, Silence(600, 1)), "Results is_final from_finalize: two"},
           {{}, empty, "Results is_final from_finalize: ; Results is_final from_finalize: "}}) {
    const auto protocol = Open(c.query);
    StartIt(protocol.get());
    EXPECT_EQ(Summary(protocol->OnUpdate(c.update)), c.expected);
  }
}

// An utterance ends by its length or by Finalize, and silence follows. It is counted from the start
// of the last token, at 40 ms.
TEST(DeepgramProtocol, EverySpeechEnds) {
  Utterance flushed = EndedTwo(0);
  flushed.end = UtteranceEnd::kFinalize;
  struct Step {
    LiveUpdate update;
    std::string expected;
  };
  const auto run = [](const Query& query, const std::vector<Step>& steps) {
    const auto protocol = Open(query);
    StartIt(protocol.get());
    for (const Step& step : steps) {
      EXPECT_EQ(Summary(protocol->OnUpdate(step.update)), step.expected);
    }
  };
  const std::string final = "Results is_final from_finalize: two";
  run({{"endpointing", "600"}}, {{UpdateWith({flushed}, Silence(600, 1)), final},
                                 {Silence(630, 1), ""},
                                 {Silence(640, 1), "Results is_final speech_final: "},
                                 {Silence(3000, 1), ""}});
  run({{"endpointing", "false"}},
      {{UpdateWith({flushed}, Silence(600, 1)), final}, {Silence(3000, 1), ""}});
  // Words that follow have a result that ends them.
  run({{"endpointing", "500"}},
      {{UpdateWith({flushed}, Silence(530, 1)), final},
       {RunningZe(1), ""},
       {UpdateWith({EndedTwo(1)}, Silence(1600, 2)), "Results is_final speech_final: two"},
       {Silence(3000, 2), ""}});
}

TEST(DeepgramProtocol, NoInterimResultsAfterCloseStream) {
  const auto protocol = Open({{"interim_results", "true"}});
  StartIt(protocol.get());
  EXPECT_EQ(Summary(protocol->OnUpdate(TwoZero())), "Results: two zero");
  protocol->Read(Text(kCloseStream));
  EXPECT_EQ(Summary(protocol->OnUpdate(TwoZero())), "");
  EXPECT_EQ(Summary(protocol->OnUpdate(FinalTwoZero())),
            "Results is_final speech_final: two zero; Metadata");
}

TEST(DeepgramProtocol, WarningsInTheMetadata) {
  struct Case {
    Query query;
    std::string language;  // of the stream
    std::string expected;  // parameters, "" for no warnings
  };
  for (const Case& c : std::vector<Case>{
           {{}, "", ""},
           {{{"language", "en-US"}}, "", "language "},
           {{{"language", "en"}}, "en-US", ""},
           {{{"language", "multi"}}, "en-US", ""},
           {{{"language", "de"}, {"numerals", "true"}}, "en-US", "numerals language "}}) {
    const auto protocol = Open(c.query);
    SessionInfo info;
    info.text_tokens = &Units();
    info.options.language = c.language;
    protocol->Read(Binary(Pcm16({1, 2})));
    protocol->OnReady(info);
    const json metadata = Parsed(protocol->OnUpdate(FinalTwoZero())).back();
    std::string named;
    for (const json& warning : metadata.value("warnings", json::array())) {
      named += warning["parameter"].get<std::string>() + " ";
    }
    EXPECT_EQ(named, c.expected);
    EXPECT_EQ(metadata.contains("warnings"), !c.expected.empty());
  }
}

TEST(DeepgramProtocol, LanguagesThatWereFound) {
  const auto protocol = Open({});
  StartIt(protocol.get());
  Utterance utterance = EndedTwo(0);
  utterance.nbest[0].language = "en-US";
  const std::vector<json> found = Parsed(protocol->OnUpdate(UpdateWith({utterance}, LiveUpdate())));
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0]["channel"]["alternatives"][0]["languages"], json({"en-US"}));
  const std::vector<json> none =
      Parsed(protocol->OnUpdate(UpdateWith({EndedTwo(1)}, LiveUpdate())));
  ASSERT_FALSE(none.empty());
  EXPECT_FALSE(none[0]["channel"]["alternatives"][0].contains("languages"));
}

TEST(DeepgramProtocol, EventsOfSpeech) {
  const auto protocol =
      Open({{"interim_results", "true"}, {"vad_events", "true"}, {"utterance_end_ms", "1000"}});
  StartIt(protocol.get());
  struct Step {
    LiveUpdate update;
    std::string expected;
  };
  for (const Step& step : std::vector<Step>{
           {Silence(320), "Results: "},
           {TwoZero(), "SpeechStarted 0.04; Results: two zero"},
           {UpdateWith({EndedTwo(0)}, Silence(640, 1)), "Results is_final: two"},
           {Silence(1190, 1), "Results: "},
           {Silence(1200, 1), "UtteranceEnd 0.2; Results: "},
           {Silence(1230, 1), "Results: "},
           {Silence(1240, 1), "Results is_final speech_final: "},
           {Silence(4000, 1), "Results: "},
           {UpdateWith({EndedTwo(4)}, RunningZe(5)),
            "SpeechStarted 4.04; Results is_final: two; SpeechStarted 5.08; Results: ze"},
           // A word that began in time, and one that did not.
           {UpdateWith({EndedTwo(5), EndedTwo(7)}, Silence(7640, 8)),
            "Results is_final: two; UtteranceEnd 5.2; SpeechStarted 7.04; Results is_final: "
            "two"}}) {
    EXPECT_EQ(Summary(protocol->OnUpdate(step.update)), step.expected);
  }
}

TEST(DeepgramProtocol, FailedStream) {
  const auto protocol = Open();
  StartIt(protocol.get());
  LiveUpdate failed;
  failed.is_final = true;
  failed.error = "broken \xFF";
  EXPECT_TRUE(protocol->OnUpdate(failed).empty());
  EXPECT_EQ(protocol->CloseAfter({ErrorCode::kStreamFailed, failed.error}).reason,
            R"(stream_failed: broken \xff)");
}

TEST(DeepgramProtocol, TextThatIsNotUtf8) {
  const auto protocol = Open({{"interim_results", "true"}});
  StartIt(protocol.get());
  LiveUpdate update;
  update.stable_text = "a\xE5\xAD";
  const json results = OnlyMessage(protocol->OnUpdate(update));
  EXPECT_EQ(results["channel"]["alternatives"][0]["transcript"], "a\uFFFD");
}

// Not the opening, which has no slot yet. A phrase that the tokens cannot spell is passed over.
TEST(DeepgramProtocol, TheFirstAudioPreparesHotwords) {
  struct Case {
    Query query;
    std::string expected;  // "" for none
  };
  const std::string audio = Pcm16({1, 2, 3, 4, 5, 6, 7, 8});
  for (const Case& c : std::vector<Case>{
           {{{"keyterm", "two zero"}, {"keyterm", "two"}}, "two zero :0.75\ntwo :0.75\n"},
           {{{"keywords", "two:2"}, {"keywords", "zero"}}, "two :1.5\nzero :0.75\n"},
           {{{"keyterm", "two:2"}, {"keyterm", "sixteen"}, {"keywords", ":"}}, ""}}) {
    const auto protocol = Open(c.query);
    EXPECT_TRUE(protocol->TakesLong(Binary(audio)));
    EXPECT_TRUE(protocol->TakesLong(Text(kCloseStream)));
    const auto requests = protocol->Read(Binary(audio));
    const auto& start = std::get<StartRequest>(requests.at(0));
    const auto& hotwords = start.options.values.stream.search.hotwords;
    EXPECT_EQ(start.options.Has("hotwords"), !c.expected.empty());
    EXPECT_EQ(hotwords == nullptr ? "" : hotwords->text(), c.expected);
    EXPECT_FALSE(protocol->TakesLong(Binary(audio)));
  }
  EXPECT_FALSE(Open()->TakesLong(Text(kCloseStream)));
}

}  // namespace
}  // namespace runnel::server
