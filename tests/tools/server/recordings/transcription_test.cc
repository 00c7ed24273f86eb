// Requests of POST /v1/audio/transcriptions, and the replies in every format.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hotwords.h"
#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/recordings/recording_request.h"
#include "tools/server/recordings/transcription_formats.h"

namespace runnel::server {
namespace {

using nlohmann::json;
using testing::EndedTwo;
using testing::FinalTwoZero;
using testing::TwoZero;
using testing::Units;

using Fields = std::vector<std::pair<std::string, std::string>>;

RecordingRequest Request(const Fields& fields) {
  std::string body;
  for (const auto& [name, value] : fields) {
    body += "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
  }
  return ReadTranscriptionRequest("multipart/form-data; boundary=b", body + "--b--\r\n", Units());
}

// The field that is refused, and the message.
std::pair<std::string, std::string> Refusal(const Fields& fields) {
  try {
    Request(fields);
  } catch (const FieldMistake& mistake) {
    return {mistake.param(), mistake.what()};
  }
  return {"", "nothing"};
}

// tokens: the vocabulary of the texts.
std::string Written(const Fields& fields, std::vector<Utterance> utterances,
                    const TokenTable& tokens = Units()) {
  Fields all = {{"file", "RIFF"}, {"model", "m"}};
  all.insert(all.end(), fields.begin(), fields.end());
  const RecordingRequest request = Request(all);
  const StreamOptions options;
  return request.format->Finish({utterances, options, tokens, 1500, std::nullopt});
}

std::vector<Utterance> TwoUtterances() {
  Utterance silent = EndedTwo(2);
  silent.nbest[0] = Hypothesis();
  return {EndedTwo(0), EndedTwo(1), silent};
}

TEST(ReadTranscriptionRequest, AnyOrderOfParts) {
  for (const bool is_first : {false, true}) {
    Fields fields = {{"model", "whisper-1"},
                     {"temperature", "0"},
                     {"include[]", "logprobs"},
                     {"known_speaker_names[]", "a"}};
    fields.insert(is_first ? fields.begin() : fields.end(), {"file", std::string("RI\0F\r\n", 6)});
    const RecordingRequest request = Request(fields);
    EXPECT_EQ(request.recording.audio(), std::string_view("RI\0F\r\n", 6));
    EXPECT_EQ(request.format->content_type(), "application/json");
    EXPECT_FALSE(request.recording.start.options.values.stream.endpoints.enabled);
    EXPECT_EQ(request.recording.start.options.values.stream.search.hotwords, nullptr);
    EXPECT_FALSE(request.recording.start.options.Has("hotwords"));
  }
}

TEST(ReadTranscriptionRequest, Options) {
  const RecordingRequest request = Request({{"file", "x"},
                                            {"language", "en"},
                                            {"keywords[]", "zero"},
                                            {"keywords[]", "xyzzy"},
                                            {"prompt", "two zero"},
                                            {"chunking_strategy[type]", "server_vad"},
                                            {"chunking_strategy[silence_duration_ms]", "700"}});
  EXPECT_EQ(request.recording.start.language_hint, "en");
  ASSERT_NE(request.recording.start.options.values.stream.search.hotwords, nullptr);
  EXPECT_EQ(request.recording.start.options.values.stream.search.hotwords->text(),
            "zero :0.75\ntwo zero :0.75\n");
  EXPECT_TRUE(request.recording.start.options.Has("hotwords"));
  const EndpointOptions& endpoints = request.recording.start.options.values.stream.endpoints;
  EXPECT_TRUE(endpoints.enabled);
  EXPECT_EQ(endpoints.rules[EndpointOptions::kSilence].min_silence_s, 0.7);
  const auto with_auto = Request({{"file", "x"}, {"chunking_strategy", "auto"}});
  EXPECT_EQ(
      with_auto.recording.start.options.values.stream.endpoints.rules[EndpointOptions::kSilence]
          .min_silence_s,
      1.2);
  for (const char* format : {"srt", "vtt", "verbose_json"}) {
    EXPECT_TRUE(Request({{"file", "x"}, {"response_format", format}})
                    .recording.start.options.values.stream.endpoints.enabled);
  }
}

// Web forms send every field, and some clients count the entries of lists.
TEST(ReadTranscriptionRequest, EmptyFieldsAndIndicesOfLists) {
  const Fields empty = {{"response_format", ""},          {"stream", ""}, {"language", ""},
                        {"chunking_strategy", ""},        {"prompt", ""}, {"keywords[]", ""},
                        {"timestamp_granularities[]", ""}};
  EXPECT_EQ(Written(empty, TwoUtterances()), Written({}, TwoUtterances()));
  EXPECT_EQ(Refusal({{"file", ""}}).first, "file");
  const Fields verbose = {{"response_format", ""}, {"response_format", "verbose_json"}};
  const auto written = [&](std::vector<std::string> names) {
    Fields fields = verbose;
    for (std::string& name : names) {
      fields.emplace_back(std::move(name), fields.size() % 2 == 0 ? "word" : "segment");
    }
    return Written(fields, TwoUtterances());
  };
  const std::string name = "timestamp_granularities";
  const std::string both = written({name, name});
  EXPECT_NE(both.find("\"words\""), std::string::npos);
  EXPECT_EQ(written({name + "[0]", name + "[1]"}), both);
  EXPECT_EQ(written({name + "[]", name + "[17]"}), both);
  EXPECT_NE(written({name + "[0]"}), both);
}

TEST(ReadTranscriptionRequest, WrongFieldsAreNamed) {
  struct Case {
    std::string name;
    std::string value;
  };
  EXPECT_EQ(Refusal({{"model", "m"}}).first, "file");
  EXPECT_EQ(Refusal({{"file", "x"}, {"file", "y"}}).first, "file");
  for (const Case& c : std::vector<Case>{{"response_format", "xml"},
                                         {"response_format", "diarized_json"},
                                         {"stream", "1"},
                                         {"chunking_strategy", "none"},
                                         {"chunking_strategy[silence_duration_ms]", "x"},
                                         {"chunking_strategy[silence_duration_ms]", "-1"},
                                         {"timestamp_granularities", "letter"},
                                         {"prompt", std::string(70000, 'x')}}) {
    const auto [param, message] =
        Refusal({{"file", "x"}, {"chunking_strategy[type]", "auto"}, {c.name, c.value}});
    EXPECT_EQ(param, c.name) << message;
    EXPECT_LT(message.size(), 200U);
  }
  EXPECT_EQ(Refusal({{"file", "x"}, {"stream", "true"}, {"response_format", "srt"}}).first,
            "response_format");
  EXPECT_THROW(ReadTranscriptionRequest("audio/wav", "RIFF", Units()), FieldMistake);
}

TEST(TranscriptionFormats, Json) {
  EXPECT_EQ(Written({}, TwoUtterances()),
            "{\"text\":\"two two\",\"usage\":{\"type\":\"duration\",\"seconds\":1.5}}\n");
}

TEST(TranscriptionFormats, Text) {
  EXPECT_EQ(Written({{"response_format", "text"}}, TwoUtterances()), "two two\n");
}

// As the model found it, else as the client named it.
TEST(TranscriptionFormats, Language) {
  std::vector<Utterance> utterances = TwoUtterances();
  utterances[1].nbest[0].language = "de";
  const Fields named = {{"response_format", "verbose_json"}, {"language", "en"}};
  EXPECT_EQ(json::parse(Written(named, utterances)).at("language"), "de");
  EXPECT_EQ(json::parse(Written(named, TwoUtterances())).at("language"), "en");
  EXPECT_EQ(json::parse(Written({}, utterances)).at("languages"),
            json::parse(R"([{"code":"de"}])"));
}

TEST(TranscriptionFormats, VerboseJson) {
  const std::string body =
      Written({{"response_format", "verbose_json"}, {"language", "en"}}, TwoUtterances());
  const json reply = json::parse(body);
  const json expected = json::parse(
      R"({"task":"transcribe","language":"en","duration":1.5,"text":"two two",
          "usage":{"type":"duration","seconds":1.5},
          "segments":[{"id":0,"seek":0,"start":0.04,"end":0.2,"text":"two","tokens":[1],
          "temperature":0,"avg_logprob":-0.25,"compression_ratio":1,"no_speech_prob":0},
          {"id":1,"seek":0,"start":1.04,"end":1.2,"text":"two","tokens":[1],
          "temperature":0,"avg_logprob":-0.25,"compression_ratio":1,"no_speech_prob":0}]})");
  EXPECT_EQ(reply, expected);
  const json words = json::parse(
      Written({{"response_format", "verbose_json"}, {"timestamp_granularities[]", "word"}},
              TwoUtterances()));
  EXPECT_FALSE(words.contains("segments"));
  EXPECT_EQ(words["words"], json::parse(R"([{"word":"two","start":0.04,"end":0.2},
                                            {"word":"two","start":1.04,"end":1.2}])"));
}

TEST(TranscriptionFormats, Captions) {
  EXPECT_EQ(Written({{"response_format", "srt"}}, TwoUtterances()),
            "1\n00:00:00,040 --> 00:00:00,200\ntwo\n\n2\n00:00:01,040 --> 00:00:01,200\ntwo\n\n");
  EXPECT_EQ(Written({{"response_format", "vtt"}}, TwoUtterances()),
            "WEBVTT\n\n00:00:00.040 --> 00:00:00.200\ntwo\n\n"
            "00:00:01.040 --> 00:00:01.200\ntwo\n\n");
}

// The lines of a long word end where its tokens do, also behind special tokens that are shown.
TEST(TranscriptionFormats, CaptionsWithSpecialTokens) {
  const std::string begin(30, 'a');
  const std::string end(30, 'b');
  const TokenTable tokens =
      TokenTable("<blank> 0\n\u2581" + begin + " 1\n" + end + " 2\n<en> 3\n", 4, 0, "units")
          .WithSpecialTokens();
  Utterance utterance = EndedTwo(0);
  Hypothesis& best = utterance.nbest[0];
  best.tokens = {testing::TokenAt(3, 40, 80), testing::TokenAt(1, 80, 120),
                 testing::TokenAt(2, 120, 160)};
  tokens.Complete(&best);
  EXPECT_EQ(Written({{"response_format", "srt"}}, {utterance}, tokens),
            "1\n00:00:00,040 --> 00:00:00,200\n<en> " + begin + "\n" + end + "\n\n");
}

// The data of the events in a stream.
std::vector<json> Events(const std::string& stream) {
  std::vector<json> events;
  for (size_t begin = 0; begin < stream.size();) {
    const size_t end = stream.find("\n\n", begin);
    EXPECT_EQ(stream.substr(begin, 6), "data: ");
    events.push_back(json::parse(stream.substr(begin + 6, end - begin - 6)));
    begin = end + 2;
  }
  return events;
}

TEST(TranscriptionFormats, EventsComeWithTheText) {
  const RecordingRequest request = Request({{"file", "x"}, {"stream", "true"}});
  EXPECT_EQ(request.format->content_type(), "text/event-stream");
  LiveUpdate first;
  first.utterances = {EndedTwo(0)};
  first.utterance_index = 1;
  LiveUpdate second = TwoZero();
  second.utterance_index = 1;
  LiveUpdate last = FinalTwoZero();
  last.utterances[0].index = 1;
  std::string stream;
  for (const LiveUpdate& update : {first, LiveUpdate(), second, last}) {
    stream += request.format->Add(update);
  }
  std::vector<Utterance> all = {EndedTwo(0), last.utterances[0]};
  stream += request.format->Finish({all, StreamOptions(), Units(), 1500, std::nullopt});
  const std::vector<json> expected = {{{"type", "transcript.text.delta"}, {"delta", "two"}},
                                      {{"type", "transcript.text.delta"}, {"delta", " two"}},
                                      {{"type", "transcript.text.delta"}, {"delta", " zero"}},
                                      {{"type", "transcript.text.done"}, {"text", "two two zero"}}};
  EXPECT_EQ(Events(stream), expected);
  EXPECT_EQ(ServerSentEvent("{}\n"), "data: {}\n\n");
}

}  // namespace
}  // namespace runnel::server
