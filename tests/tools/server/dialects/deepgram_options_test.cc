#include "tools/server/dialects/deepgram_options.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tools/cli/decimal.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

using Query = std::vector<std::pair<std::string, std::string>>;

// linear16 at 8 kHz, and `more`.
DeepgramOptions OptionsOf(const Query& more) {
  Query query = {{"model", "nova-3"}, {"encoding", "linear16"}, {"sample_rate", "8000"}};
  query.insert(query.end(), more.begin(), more.end());
  return ReadDeepgramQuery(query);
}

double SilenceS(const DeepgramOptions& options) {
  return options.start.options.values.stream.endpoints.rules[EndpointOptions::kSilence]
      .min_silence_s;
}

TEST(DeepgramOptions, RatesOfTheAudio) {
  struct Case {
    Query query;
    int rate_hz;  // 0: the audio states it
  };
  for (const Case& c : std::vector<Case>{
           {{{"encoding", "linear32"}, {"sample_rate", "44100"}}, 44100},
           {{{"encoding", "mulaw"}, {"sample_rate", "8000"}, {"channels", "2"}}, 8000},
           {{{"encoding", "alaw"}, {"sample_rate", "8000"}}, 8000},
           {{{"encoding", "opus"}, {"sample_rate", "48000"}, {"channels", "2"}}, 48000},
           {{{"encoding", "linear16"}, {"sample_rate", "8000"}}, 0},  // a WAV header may come
           {{{"encoding", "ogg-opus"}}, 0},
           {{{"sample_rate", "8000"}}, 0},
           {{}, 0}}) {
    EXPECT_EQ(ReadDeepgramQuery(c.query).decoder->sample_rate_hz(), c.rate_hz);
  }
}

TEST(DeepgramOptions, Mistakes) {
  struct Case {
    Query query;
    std::string expected;
  };
  const std::string rates = "expected an integer from 1000";
  const Query raw = {{"encoding", "linear16"}, {"sample_rate", "8000"}};
  const auto with = [&](const Query& more) {
    Query query = raw;
    query.insert(query.end(), more.begin(), more.end());
    return query;
  };
  for (
      const Case& c : std::vector<Case>{
          {{{"encoding", "flac"}},
           "encoding is 'flac', expected linear16, linear32, mulaw, alaw, opus, ogg-opus, or none "
           "with a file, such as WAV or WebM"},
          {{{"encoding", "linear16"}}, "sample_rate is '', " + rates},
          {{{"encoding", "mulaw"}, {"sample_rate", "8k"}}, "sample_rate is '8k', " + rates},
          {{{"encoding", "alaw"}, {"sample_rate", "1e4"}}, "sample_rate is '1e4', " + rates},
          {{{"encoding", "opus"}, {"sample_rate", "44100"}},
           "sample_rate is '44100', expected 8000, 12000, 16000, 24000 or 48000 with opus"},
          {{{"encoding", "alaw"}, {"sample_rate", " 8000 "}}, "sample_rate is ' 8000 ', " + rates},
          {{{"encoding", "alaw"}, {"sample_rate", "8000.0"}}, "sample_rate is '8000.0', " + rates},
          {with({{"channels", "0"}}), "channels is '0', expected an integer from 1 to 32"},
          {with({{"channels", "2"}, {"multichannel", "true"}}),
           "multichannel is 'true', expected false: the channels are mixed"},
          {with({{"interim_results", "yes"}}), "interim_results is 'yes', expected true or false"},
          {with({{"punctuate", "\n\xFF"}}), R"(punctuate is ' \xff', expected true or false)"},
          {with({{"punctuate", std::string(200, 'y')}}),
           "punctuate is '" + std::string(24, 'y') + "...', expected true or false"},
          {with({{"endpointing", "-1"}}),
           "endpointing is '-1', expected an integer from 0 to 86400000"},
          {with({{"diarize", "true"}}),
           "diarize is 'true', expected false or none: this server has no such parameter"},
          {with({{"redact", "pci"}}),
           "redact is 'pci', expected false or none: this server has no such parameter"},
          {with({{"endpointin\xFF", "300"}}),
           R"(endpointin\xff is '300', expected false or none: this server has no such parameter)"},
          {with({{"utterance_end_ms", "1000"}}),
           "utterance_end_ms is '1000', expected interim_results=true with it"},
          {with({{"utterance_end_ms", "999"}, {"interim_results", "true"}}),
           "utterance_end_ms is '999', expected an integer from 1000 to 86400000"}}) {
    try {
      ReadDeepgramQuery(c.query);
      ADD_FAILURE() << "accepted, expected: " << c.expected;
    } catch (const ClientMistake& mistake) {
      EXPECT_EQ(mistake.what(), c.expected);
      EXPECT_EQ(mistake.code(), ErrorCode::kBadOption);
    }
  }
}

TEST(DeepgramOptions, Endpointing) {
  struct Case {
    Query query;
    double silence_s;
    bool finds_endpoints;
  };
  const double by_default = EndpointOptions().rules[EndpointOptions::kSilence].min_silence_s;
  for (const Case& c : std::vector<Case>{{{}, by_default, true},
                                         {{{"endpointing", "true"}}, by_default, true},
                                         {{{"endpointing", "false"}}, by_default, false},
                                         {{{"endpointing", "300"}}, 0.3, true},
                                         {{{"endpointing", "10"}}, 0.1, true},
                                         {{{"endpointing", "0"}}, 0.1, true}}) {
    const DeepgramOptions options = OptionsOf(c.query);
    EXPECT_TRUE(options.start.options.values.stream.endpoints.enabled);
    EXPECT_EQ(SilenceS(options), c.silence_s);
    EXPECT_EQ(options.finds_endpoints, c.finds_endpoints);
  }
}

TEST(DeepgramOptions, Messages) {
  const DeepgramOptions none = OptionsOf({});
  EXPECT_FALSE(none.interim_results || none.vad_events || none.punctuates);
  EXPECT_EQ(none.utterance_end_ms, 0);
  EXPECT_FALSE(none.start.options.Has("hotwords") || none.start.options.Has("search"));
  const DeepgramOptions all = OptionsOf({{"interim_results", "true"},
                                         {"vad_events", "true"},
                                         {"smart_format", "true"},
                                         {"utterance_end_ms", "1500"}});
  EXPECT_TRUE(all.interim_results && all.vad_events && all.punctuates);
  EXPECT_EQ(all.utterance_end_ms, 1500);
}

// E.g. "two zero * 1.0, two * 0.5".
std::string PhrasesOf(const Query& query) {
  std::string text;
  for (const WeightedPhrase& phrase : OptionsOf(query).phrases) {
    text += (text.empty() ? "" : ", ") + phrase.text + " * " + Decimal(phrase.weight, 1);
  }
  return text;
}

TEST(DeepgramOptions, Flags) {
  EXPECT_FALSE(OptionsOf({}).interim_results);
  for (const char* name : {"true", "True"}) {
    EXPECT_TRUE(OptionsOf({{"interim_results", name}}).interim_results);
    EXPECT_TRUE(OptionsOf({{"endpointing", name}}).finds_endpoints);
  }
  for (const char* name : {"false", "False"}) {
    EXPECT_FALSE(OptionsOf({{"interim_results", name}}).interim_results);
    EXPECT_FALSE(OptionsOf({{"endpointing", name}}).finds_endpoints);
  }
}

TEST(DeepgramOptions, Phrases) {
  EXPECT_EQ(PhrasesOf({{"keyterm", "two zero"}, {"keyterm", "two:2"}}),
            "two zero * 1.0, two:2 * 1.0");
  EXPECT_EQ(PhrasesOf({{"keywords", "two:2"}, {"keywords", "zero"}}), "two * 2.0, zero * 1.0");
  EXPECT_EQ(PhrasesOf({{"keywords", "a:-2"}, {"keywords", "b:0"}}), "");
  // No numbers: words with a colon.
  EXPECT_EQ(PhrasesOf({{"keywords", "c:nan"}, {"keywords", "c: 2"}, {"keywords", "c:"}}),
            "c:nan * 1.0, c: 2 * 1.0, c: * 1.0");
  EXPECT_EQ(PhrasesOf({{"keywords", "two zero:0.5"}}), "two zero * 0.5");
}

TEST(DeepgramOptions, Language) {
  EXPECT_EQ(OptionsOf({{"language", "en-US"}}).start.language_hint, "en-US");
  EXPECT_FALSE(OptionsOf({{"language", ""}}).start.language_hint.has_value());
  EXPECT_FALSE(OptionsOf({}).start.language_hint.has_value());
}

TEST(DeepgramOptions, ParametersWithoutEffect) {
  const DeepgramOptions options = OptionsOf({{"model", "nova-3"},
                                             {"no_delay", "true"},
                                             {"filler_words", "true"},
                                             {"mip_opt_out", "true"},
                                             {"tag", "a"},
                                             {"tag", "b"},
                                             {"multichannel", "true"},  // of one channel
                                             {"diarize", "false"},
                                             {"detect_entities", "False"},
                                             {"unheard_of", ""},
                                             {"profanity_filter", "true"},
                                             {"numerals", "false"},
                                             {"dictation", "True"}});
  EXPECT_EQ(options.remarks.unused, (std::vector<std::string>{"profanity_filter", "dictation"}));
  EXPECT_TRUE(OptionsOf({}).remarks.unused.empty());
}

TEST(DeepgramOptions, ParametersWithAnObviousMeaning) {
  // What every result has, and what the server cannot do, which the metadata says.
  const DeepgramOptions options = OptionsOf({{"alternatives", "1"},
                                             {"paragraphs", "true"},
                                             {"utterances", "true"},
                                             {"ner", "true"},
                                             {"tier", "enhanced"},
                                             {"detect_language", "true"},
                                             {"extra", "call:7:b"},
                                             {"extra", "alone"}});
  EXPECT_EQ(options.remarks.unused, (std::vector<std::string>{"paragraphs", "utterances", "ner"}));
  EXPECT_TRUE(options.remarks.detects_language);
  EXPECT_EQ(options.remarks.extra, (Query{{"call", "7:b"}, {"alone", ""}}));
  EXPECT_EQ(OptionsOf({{"alternatives", "3"}}).remarks.unused,
            std::vector<std::string>{"alternatives"});
  EXPECT_EQ(SilenceS(OptionsOf({{"vad_turnoff", "500"}})), 0.5);
  EXPECT_EQ(SilenceS(OptionsOf({{"vad_turnoff", "500"}, {"endpointing", "300"}})), 0.3);
}

}  // namespace
}  // namespace runnel::server
