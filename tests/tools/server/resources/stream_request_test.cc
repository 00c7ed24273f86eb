#include "tools/server/resources/stream_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/model.h"
#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_streams.h"

namespace runnel::server {
namespace {

using runnel::testing::ErrorMessage;

int CompletedRate(SampleEncoding encoding, int requested_hz, int model_hz) {
  StartRequest request;
  request.encoding = encoding;
  request.options.values.stream.sample_rate_hz = requested_hz;
  ChosenOptions defaults;
  defaults.values.stream.sample_rate_hz = model_hz;
  return CompleteOptions(request, defaults, {}).sample_rate_hz;
}

TEST(StreamRequest, AnOpusStreamWithoutARateKeepsTheBandOfTheModel) {
  EXPECT_EQ(CompletedRate(SampleEncoding::kOpus, 0, 8000), 8000);
  EXPECT_EQ(CompletedRate(SampleEncoding::kOpus, 0, 16000), 16000);
  EXPECT_EQ(CompletedRate(SampleEncoding::kOpus, 0, 22050), 24000);
  EXPECT_EQ(CompletedRate(SampleEncoding::kOpus, 0, 44100), 48000);
}

TEST(StreamRequest, OtherRatesAreTheClientsOrLeftToTheModel) {
  EXPECT_EQ(CompletedRate(SampleEncoding::kOpus, 8000, 16000), 8000);
  for (const SampleEncoding encoding : {SampleEncoding::kPcm16, SampleEncoding::kMulaw}) {
    EXPECT_EQ(CompletedRate(encoding, 0, 22050), 0);
    EXPECT_EQ(CompletedRate(encoding, 11025, 16000), 11025);
  }
}

class DefaultSearchTest : public ::testing::Test {
 protected:
  DefaultSearchTest() {
    const runnel::testing::TemporaryFolder folder;
    const std::string path = folder.File("lm.arpa");
    runnel::testing::WriteBytes(path, "\\data\\\nngram 1=1\n\n\\1-grams:\n-1 a\n\n\\end\\\n");
    LanguageModelOptions options;
    options.model = LanguageModel::Load(path);
    options.level = LanguageModelLevel::kToken;
    SearchOptions& search = defaults_.values.stream.search;
    search.method = SearchMethod::kPrefixBeam;
    search.language_model = PrepareLanguageModel(options, tokens_);
    search.hotwords = Phrases("ad");
  }

  std::shared_ptr<const Hotwords> Phrases(const std::string& list) const {
    return std::make_shared<const Hotwords>(list, tokens_, 1.0F, "test");
  }

  SearchOptions Completed(const StartRequest& request) const {
    return CompleteOptions(request, defaults_, {}).search;
  }

  const TokenTable& tokens_ = runnel::testing::Tiny()->tokens();
  ChosenOptions defaults_;
};

TEST_F(DefaultSearchTest, IsThatOfAClientThatNamesNone) {
  const SearchOptions search = Completed({});
  EXPECT_EQ(search.method, SearchMethod::kPrefixBeam);
  EXPECT_EQ(search.hotwords, defaults_.values.stream.search.hotwords);
  EXPECT_EQ(search.language_model, defaults_.values.stream.search.language_model);
  defaults_ = ChosenOptions();
  EXPECT_EQ(Completed({}).method, SearchMethod::kGreedy);
}

TEST_F(DefaultSearchTest, ABeamSearchOfAClientHasTheLanguageModelAndItsOwnHotwords) {
  StartRequest request;
  request.options.Set("search", "beam");
  EXPECT_EQ(Completed(request).hotwords, defaults_.values.stream.search.hotwords);
  request.options.SetHotwords(Phrases("bad"));
  const SearchOptions search = Completed(request);
  EXPECT_EQ(search.hotwords, request.options.values.stream.search.hotwords);
  EXPECT_EQ(search.language_model, defaults_.values.stream.search.language_model);
}

TEST_F(DefaultSearchTest, AClientThatNeedsABeamHasThatOfTheServer) {
  StartRequest request;
  request.options.SetHotwords(Phrases("bad"));
  const auto method = [&](SearchMethod of_server) {
    defaults_.values.stream.search.method = of_server;
    return Completed(request).method;
  };
  EXPECT_EQ(method(SearchMethod::kGreedy), SearchMethod::kPrefixBeam);
  EXPECT_EQ(method(SearchMethod::kPrefixBeam), SearchMethod::kPrefixBeam);
  EXPECT_EQ(method(SearchMethod::kModifiedBeam), SearchMethod::kModifiedBeam);
  request.options.Set("head", "ctc");
  EXPECT_EQ(method(SearchMethod::kModifiedBeam), SearchMethod::kPrefixBeam);
}

TEST_F(DefaultSearchTest, AGreedySearchOfAClientHasNeither) {
  StartRequest request;
  request.options.Set("search", "greedy");
  const SearchOptions search = Completed(request);
  EXPECT_EQ(search.method, SearchMethod::kGreedy);
  EXPECT_EQ(search.hotwords, nullptr);
  EXPECT_EQ(search.language_model, nullptr);
}

TEST_F(DefaultSearchTest, IsLoweredToTheLimitOfTheServer) {
  Limits limits;
  limits.max_beam_size = 3;
  EXPECT_EQ(CompleteOptions({}, defaults_, limits).search.beam_size, 3);
}

// A server whose streams search a transducer of a multilingual model and rescore.
ChosenOptions DefaultsOfAModelWithEverything() {
  ChosenOptions defaults;
  defaults.values.stream.language = "en-US";
  SearchOptions& search = defaults.values.stream.search;
  search.method = SearchMethod::kModifiedBeam;
  search.head = Head::kTransducer;
  search.token_beam = 7;
  search.max_symbols = 3;
  search.ctc_weight = 0.25;
  search.rescoring = {true, 2, 0.5};
  return defaults;
}

TEST(ServerDefaults, ALanguageHintCountsIfTheModelKnowsIt) {
  ChosenOptions defaults;
  defaults.values.stream.language = "fr-FR";
  const std::vector<std::string> languages = {"de", "de-DE", "eng", "en-US", "en-GB", "fr-FR"};
  const auto language_of = [&](const std::string& hint, const std::vector<std::string>& known) {
    StartRequest request;
    request.language_hint = hint;
    return CompleteOptions(request, defaults, {}, known).language;
  };
  EXPECT_EQ(language_of("de", languages), "de");
  EXPECT_EQ(language_of("en", languages), "en-US");
  EXPECT_EQ(language_of("en-GB", languages), "en-GB");
  EXPECT_EQ(language_of("de-AT", languages), "de");
  EXPECT_EQ(language_of("it", languages), "fr-FR");
  EXPECT_EQ(language_of("en", {}), "fr-FR");
}

TEST(ServerDefaults, AreTheServersUnlessTheClientHasItsOwn) {
  const ChosenOptions defaults = DefaultsOfAModelWithEverything();
  StreamOptions options = CompleteOptions({}, defaults, {});
  EXPECT_EQ(options.language, "en-US");
  EXPECT_EQ(options.search.method, SearchMethod::kModifiedBeam);
  EXPECT_EQ(options.search.head, Head::kTransducer);
  EXPECT_EQ(options.search.token_beam, 7);
  EXPECT_EQ(options.search.max_symbols, 3);
  EXPECT_EQ(options.search.ctc_weight, 0.25);
  EXPECT_TRUE(options.search.rescoring.enabled);
  EXPECT_EQ(options.search.rescoring.first_pass_weight, 2);
  EXPECT_EQ(options.search.rescoring.reverse_weight, 0.5);
  // Also values that are the library's defaults.
  StartRequest request;
  request.options.Set("head", "transducer");
  request.options.Set("max_symbols", int64_t{0});
  request.options.Set("ctc_weight", 0.0);
  request.options.Set("rescoring", false);
  request.options.Set("language", "");
  options = CompleteOptions(request, defaults, {});
  EXPECT_EQ(options.language, "");
  EXPECT_EQ(options.search.max_symbols, 0);
  EXPECT_EQ(options.search.ctc_weight, 0);
  EXPECT_FALSE(options.search.rescoring.enabled);
}

// What the server chose for another search would be refused.
TEST(ServerDefaults, OfAnotherSearchOrHeadDoNotCount) {
  const ChosenOptions defaults = DefaultsOfAModelWithEverything();
  StartRequest greedy;
  greedy.options.Set("search", "greedy");
  EXPECT_FALSE(CompleteOptions(greedy, defaults, {}).search.rescoring.enabled);
  EXPECT_EQ(CompleteOptions(greedy, defaults, {}).search.ctc_weight, 0);
  greedy.options.Set("rescoring", true);
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { CompleteOptions(greedy, defaults, {}); }),
            "rescoring needs search=beam");
  StartRequest ctc;
  ctc.options.Set("head", "ctc");
  const SearchOptions search = CompleteOptions(ctc, defaults, {}).search;
  EXPECT_EQ(search.method, SearchMethod::kPrefixBeam);
  EXPECT_EQ(search.max_symbols, 0);
  EXPECT_EQ(search.ctc_weight, 0);
  EXPECT_TRUE(search.rescoring.enabled);
  ctc.options.Set("max_symbols", int64_t{2});  // the library refuses it
  EXPECT_EQ(CompleteOptions(ctc, defaults, {}).search.max_symbols, 2);
}

TEST(ServerDefaults, AreLimited) {
  StartRequest request;
  Limits limits;
  limits.max_frame_tokens = 4;
  const auto max_symbols = [&](int64_t of_client, int of_server) {
    ChosenOptions defaults;
    defaults.values.stream.search.max_symbols = of_server;
    request.options.Set("max_symbols", of_client);
    return CompleteOptions(request, defaults, limits).search.max_symbols;
  };
  EXPECT_EQ(max_symbols(4, 9), 4);
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { max_symbols(5, 9); }),
            "max_symbols is 5, expected at most 4 on this server (--max_frame_tokens)");
  request = StartRequest();
  ChosenOptions defaults;
  defaults.values.stream.search.max_symbols = 9;
  EXPECT_EQ(CompleteOptions(request, defaults, limits).search.max_symbols, 9);
  limits.max_beam_size = 5;
  for (const std::string search : {"beam", "modified_beam"}) {
    request.options.Set("search", search);
    request.options.Set("beam_size", int64_t{6});
    EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { CompleteOptions(request, {}, limits); }),
              "beam_size is 6, expected at most 5 on this server (--max_beam_size)");
  }
}

// A client of Vosk, Riva or WeNet, which takes fewer results than it asks for.
TEST(Alternatives, AreAsManyAsTheServerPermits) {
  StartRequest request;
  Limits limits;
  limits.max_nbest = 12;
  for (const int asked : {2, 12, 13, 20, std::numeric_limits<int>::max()}) {
    request.max_alternatives = asked;
    const StreamOptions options = CompleteOptions(request, {}, limits);
    EXPECT_EQ(options.nbest, std::min(asked, 12));
    EXPECT_EQ(options.search.method, SearchMethod::kPrefixBeam);
    EXPECT_EQ(options.search.beam_size, std::max(options.nbest, SearchOptions().beam_size));
  }
  limits.max_beam_size = 9;
  EXPECT_EQ(CompleteOptions(request, {}, limits).search.beam_size, 9);
  request.max_alternatives = 1;
  EXPECT_EQ(CompleteOptions(request, {}, limits).search.method, SearchMethod::kGreedy);
}

// What the server's flags say counts for a client that chooses no rules of its own.
TEST(ServerDefaults, OfEndpoints) {
  ChosenOptions defaults;
  defaults.Set("endpoint_silence_s", 0.5);
  StartRequest request;
  EXPECT_FALSE(CompleteOptions(request, defaults, {}).endpoints.enabled);
  request.options.Set("endpointing", true);
  request.options.Set("endpoint_max_utterance_s", 7.0);
  const EndpointOptions endpoints = CompleteOptions(request, defaults, {}).endpoints;
  EXPECT_TRUE(endpoints.enabled);
  EXPECT_EQ(endpoints.rules[EndpointOptions::kSilence].min_silence_s, 0.5);
  EXPECT_EQ(endpoints.rules[EndpointOptions::kLength].min_utterance_s, 7);
  // A client that cannot ask for endpoints.
  request = StartRequest();
  request.expects_endpointing = true;
  EXPECT_TRUE(CompleteOptions(request, defaults, {}).endpoints.enabled);
  defaults.Set("endpointing", false);
  EXPECT_FALSE(CompleteOptions(request, defaults, {}).endpoints.enabled);
}

TEST(Alternatives, OfRunnelsProtocolAreNotFewerThanAskedFor) {
  StartRequest request;
  request.options.Set("nbest", int64_t{101});
  request.options.Set("search", "beam");
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { CompleteOptions(request, {}, {}); }),
            "nbest is 101, expected at most 10 on this server (--max_nbest)");
}

TEST(GreedySearch, IsNotAskedForWhatOnlyABeamHas) {
  const auto error = [](const auto& choose, SearchMethod of_server) {
    StartRequest request;
    choose(&request);
    ChosenOptions defaults;
    defaults.values.stream.search.method = of_server;
    try {
      CompleteOptions(request, defaults, {});
    } catch (const std::invalid_argument& refusal) {
      return std::string(refusal.what());
    }
    return std::string();
  };
  const auto beam_size = [](StartRequest* request) {
    request->options.Set("beam_size", int64_t{4});
  };
  const auto nbest = [](StartRequest* request) { request->options.Set("nbest", int64_t{2}); };
  EXPECT_EQ(error(beam_size, SearchMethod::kGreedy), "beam_size needs search=beam");
  EXPECT_EQ(error(nbest, SearchMethod::kGreedy),
            "nbest is 2, expected at most 1 with search=greedy");
  EXPECT_EQ(error(beam_size, SearchMethod::kPrefixBeam), "");
  EXPECT_EQ(error(nbest, SearchMethod::kModifiedBeam), "");
}

std::string LimitError(const std::string& name, int64_t value, const Limits& limits) {
  StartRequest request;
  request.options.Set(name, value);
  try {
    CompleteOptions(request, {}, limits);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(StreamRequest, TheServersCachedWindowsAreOfWindows) {
  ChosenOptions defaults;
  defaults.values.stream = {};
  defaults.values.stream.chunk_size = 16;
  defaults.values.stream.right_context = 16;
  defaults.values.stream.cached_windows = true;
  StartRequest request;
  EXPECT_TRUE(CompleteOptions(request, defaults, {}).cached_windows);
  request.options.Set("right_context", int64_t{StreamOptions::kNoRightContext});
  EXPECT_FALSE(CompleteOptions(request, defaults, {}).cached_windows);
  request.options.Set("cached_windows", true);
  EXPECT_TRUE(CompleteOptions(request, defaults, {}).cached_windows) << "refused by the model";
}

TEST(StreamRequest, ACachedWindowMayBeSmallBesideItsLeftContext) {
  StartRequest request;
  request.options.Set("chunk_size", int64_t{4});
  request.options.Set("left_context", int64_t{128});
  request.options.Set("right_context", int64_t{16});
  EXPECT_NE(ErrorMessage<std::invalid_argument>([&] {
              CompleteOptions(request, {}, {});
            }).find("--max_window_factor"),
            std::string::npos);
  request.options.Set("cached_windows", true);
  CompleteOptions(request, {}, {});
  // In the first seconds it computes 64 frames of its left context.
  request.options.Set("chunk_size", int64_t{2});
  request.options.Set("right_context", int64_t{0});
  EXPECT_NE(ErrorMessage<std::invalid_argument>([&] {
              CompleteOptions(request, {}, {});
            }).find("--max_window_factor"),
            std::string::npos);
  request.options.Set("left_context", int64_t{62});
  CompleteOptions(request, {}, {});
}

TEST(StreamRequest, ASpecialNumberIsMoreThanALimitOnlyIfItAsksForAll) {
  const Limits limits;
  EXPECT_EQ(LimitError("chunk_size", StreamOptions::kWholeUtterance, limits),
            "chunk_size is -1 (the whole utterance), expected at most 64 on this server "
            "(--max_chunk_size)");
  EXPECT_EQ(LimitError("left_context", StreamOptions::kUnlimited, limits),
            "left_context is -1 (all), expected at most 512 on this server (--max_left_context)");
  EXPECT_EQ(LimitError("right_context", 65, limits),
            "right_context is 65, expected at most 64 on this server (--max_right_context)");
  EXPECT_EQ(LimitError("right_context", 64, limits), "");
  EXPECT_EQ(LimitError("right_context", StreamOptions::kNoRightContext, limits), "");
  Limits without_limit;
  without_limit.max_chunk_size = -1;
  EXPECT_EQ(LimitError("chunk_size", StreamOptions::kWholeUtterance, without_limit), "");
}

std::string EarlyTextError(int64_t interval, int64_t chunk_size, int64_t max_previews) {
  StartRequest request;
  request.options.Set("early_text_interval", interval);
  ChosenOptions defaults;
  defaults.values.stream.chunk_size = chunk_size;
  Limits limits;
  limits.max_previews = max_previews;
  try {
    CompleteOptions(request, defaults, limits);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(StreamRequest, PreviewsOfAChunkAreBounded) {
  EXPECT_EQ(EarlyTextError(1, 64, 8),
            "early_text is 1, expected 0 or at least 8 with a chunk_size of 64 on this server "
            "(--max_previews)");
  for (int64_t chunk_size = 1; chunk_size <= 40; ++chunk_size) {
    for (int64_t max_previews = 0; max_previews <= 9; ++max_previews) {
      EXPECT_EQ(EarlyTextError(0, chunk_size, max_previews), "");
      int64_t least = 0;  // interval that is accepted
      for (int64_t interval = chunk_size; interval > 0; --interval) {
        // Previews come after `interval`, 2 * `interval`, ... frames, before the chunk is complete.
        int64_t num_previews = 0;
        for (int64_t t = interval; t < chunk_size; t += interval) ++num_previews;
        const std::string error = EarlyTextError(interval, chunk_size, max_previews);
        EXPECT_EQ(error.empty(), num_previews <= max_previews) << interval << " " << chunk_size;
        if (error.empty()) {
          least = interval;
        } else {
          EXPECT_NE(error.find("at least " + std::to_string(least) + " "), std::string::npos);
        }
      }
    }
  }
}

}  // namespace
}  // namespace runnel::server
