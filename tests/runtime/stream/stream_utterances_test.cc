// Utterances: where they end, that each is handed over once, and that both depend on the audio
// only: not on packets, batches, snapshots or copies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "frontend/feature_stream.h"
#include "runtime/model/model_parts.h"
#include "runtime/search/ctc_search.h"
#include "runtime/stream.h"
#include "runtime/stream/cut_tokens.h"
#include "runtime/stream/token_times.h"
#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::Append;
using testing::Describe;
using testing::ExpectSame;
using testing::ExpectSameUtterances;
using testing::Feed;
using testing::kUnlimited;
using testing::kWhole;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;
using testing::UtterancesOf;
using testing::WithEndpoints;

constexpr double kFrameMs = 40;  // of the tiny model

std::vector<StreamOptions> EndpointGrid() {
  const SearchMethod beam = SearchMethod::kPrefixBeam;
  return {
      WithEndpoints(Options(1, 3), 0.15),
      WithEndpoints(Options(4, 8, beam), 0.15),
      WithEndpoints(Options(16, 16), 0.2),
      WithEndpoints(Options(3, kUnlimited, beam), 0.1),
      WithEndpoints(Options(kWhole, kUnlimited), 0.15),
      WithEndpoints(Options(8, 0), 0.99),
  };
}

// The log probabilities of a whole recording, (frames, 7), without a Stream.
std::vector<float> LogProbsOf(const std::vector<float>& samples, const StreamOptions& options) {
  FeatureStream features(Tiny()->parts().frame_extractor,
                         Tiny()->parts().config.features.sample_scale);
  features.AcceptSamples(samples.data(), samples.size());
  features.Finish();
  std::vector<float> frames(static_cast<size_t>(features.NumFramesReady() * features.dim()));
  const auto num_frames = static_cast<int64_t>(features.PopFrames(frames.size(), frames.data()));
  const Matrix rows = Tiny()->parts().encoder.ForwardUnderMask(
      frames.data(), num_frames, options.chunk_size, options.left_context);
  const Matrix log_probs = ToFloat32(Tiny()->parts().RequireCtcHead().LogProbs(rows.rows()));
  const float* begin = log_probs.rows().float32();
  return {begin, begin + log_probs.count() * 7};
}

TEST(StreamUtterancesTest, TheRulesAreAppliedFrameByFrame) {
  const std::vector<float> samples = NoiseOfChangingLevel(160000, 5);
  std::vector<int> num_by_end(3);
  for (const StreamOptions& options : EndpointGrid()) {
    SCOPED_TRACE(Describe(options));
    const std::vector<float> log_probs = LogProbsOf(samples, options);
    const auto num_frames = static_cast<int64_t>(log_probs.size() / 7);
    const std::vector<Utterance> actual = UtterancesOf(samples, options);
    size_t next = 0;
    int64_t begin = 0;
    int64_t num_silent = 0;
    auto search = MakeCtcSearch(options.search, 7, 0);
    for (int64_t t = 0; t < num_frames; ++t) {
      search->Advance(log_probs.data() + 7 * t, 1);
      const double blank = std::exp(static_cast<double>(log_probs[static_cast<size_t>(7 * t)]));
      num_silent = blank >= options.endpoints.silence_blank_probability ? num_silent + 1 : 0;
      const bool speech = !search->BestIds().empty();
      const bool ends = num_silent >= (speech ? 2 : 5) || t + 1 - begin >= 15;
      if (!ends && t + 1 < num_frames) continue;
      search->Finish();
      const TokenSequence best = search->NBest(1).front();
      std::vector<int32_t> ids;
      for (const TokenSpan& token : best.tokens) ids.push_back(token.id);
      const std::string text = Tiny()->tokens().Text(ids);
      if (!text.empty() || (!ends && t + 1 == num_frames)) {
        ASSERT_LT(next, actual.size());
        const Utterance& utterance = actual[next];
        EXPECT_EQ(utterance.index, static_cast<int64_t>(next));
        EXPECT_EQ(utterance.nbest.front().text, text);
        EXPECT_EQ(utterance.searched_ms, static_cast<double>(t + 1) * kFrameMs);
        ++num_by_end[static_cast<size_t>(utterance.end)];
        if (!best.tokens.empty()) {
          const auto first = static_cast<double>(best.tokens.front().first_frame);
          EXPECT_EQ(utterance.start_ms, first * kFrameMs);
          const SpokenMs within = {0, utterance.searched_ms};
          EXPECT_EQ(utterance.end_ms,
                    TokenTimes(*Tiny(), Head::kCtc).SpeechOf(best.tokens, within)->end);
        }
        ++next;
      }
      search->StartUtterance(t + 1);
      begin = t + 1;
      num_silent = 0;
    }
    // When the last frame ended an utterance, the last one is empty.
    if (next + 1 == actual.size()) {
      EXPECT_EQ(actual.back().nbest.front().text, "");
      EXPECT_EQ(actual.back().end, UtteranceEnd::kFinish);
      ++next;
    }
    EXPECT_EQ(next, actual.size());
    EXPECT_GE(actual.size(), 5U);
  }
  EXPECT_GE(num_by_end[static_cast<size_t>(UtteranceEnd::kEndpoint)], 60);
}

TEST(StreamUtterancesTest, AnyPacketsGiveTheSameUtterances) {
  const std::vector<float> samples = NoiseOfChangingLevel(48000, 6);
  constexpr uint64_t kSeed = 61;
  std::mt19937_64 random(kSeed);
  for (StreamOptions options : EndpointGrid()) {
    for (const bool reset : {false, true}) {
      options.endpoints.reset_encoder = reset;
      const std::vector<Utterance> expected = UtterancesOf(samples, options);
      for (const size_t max_packet : {700, 5000, 30000}) {
        SCOPED_TRACE(::testing::Message()
                     << Describe(options) << ", reset " << reset << ", packets up to " << max_packet
                     << ", seed " << kSeed);
        Stream stream(Tiny(), options);
        Feed(&stream, samples, max_packet, &random);
        ExpectSameUtterances(stream.TakeUtterances(), expected);
      }
    }
  }
}

TEST(StreamUtterancesTest, AnyBatchAndAnySnapshotGiveTheSameUtterances) {
  constexpr uint64_t kSeed = 71;
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const std::vector<StreamOptions> grid = EndpointGrid();
  std::vector<std::vector<float>> samples;
  std::vector<Stream> streams;
  std::vector<std::vector<Utterance>> taken(grid.size());
  std::vector<size_t> position(grid.size(), 0);
  for (const StreamOptions& options : grid) {
    samples.push_back(NoiseOfChangingLevel(30000 + random() % 30000, random()));
    streams.emplace_back(Tiny(), options);
  }
  for (bool busy = true; busy;) {
    busy = false;
    std::vector<Stream*> batch;
    for (size_t i = 0; i < streams.size(); ++i) {
      if (!streams[i].finished()) {
        const size_t count = std::min(samples[i].size() - position[i], 1 + random() % 4000);
        streams[i].AcceptSamples(samples[i].data() + position[i], count);
        position[i] += count;
        if (position[i] == samples[i].size()) streams[i].Finish();
      }
      busy = busy || !streams[i].IsFinal();
      batch.push_back(&streams[i]);
    }
    while (DecodeChunks(batch) > 0) {
      const size_t i = random() % streams.size();
      if (random() % 2 == 0) Append(&taken[i], streams[i].TakeUtterances());
      streams[i] = Stream::Restore(Tiny(), streams[i].Snapshot());
    }
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    SCOPED_TRACE(Describe(grid[i]));
    streams[i] = Stream::Restore(Tiny(), streams[i].Snapshot());  // after the last utterance
    Append(&taken[i], streams[i].TakeUtterances());
    const double tolerance = Tiny()->is_bit_reproducible() ? 0 : testing::kBatchScoreTolerance;
    ExpectSameUtterances(taken[i], UtterancesOf(samples[i], grid[i]), tolerance);
  }
}

TEST(StreamUtterancesTest, WithoutRulesTheStreamIsOneUtterance) {
  const std::vector<float> samples = NoiseOfChangingLevel(30000, 8);
  const StreamOptions options = Options(4, 8, SearchMethod::kPrefixBeam);
  const std::vector<Utterance> utterances = UtterancesOf(samples, options);
  ASSERT_EQ(utterances.size(), 1U);
  EXPECT_EQ(utterances[0].end, UtteranceEnd::kFinish);
  ExpectSame(utterances[0].nbest, testing::DecodeAtOnce(samples, options));
  // Even one without audio.
  const std::vector<Utterance> empty = UtterancesOf({}, options);
  ASSERT_EQ(empty.size(), 1U);
  EXPECT_EQ(empty[0].nbest.at(0).text, "");
  EXPECT_EQ(empty[0].searched_ms, 0);
}

TEST(StreamUtterancesTest, FinalizeUtteranceEndsItAsFinishWould) {
  const std::vector<float> samples = NoiseOfChangingLevel(48000, 9);
  for (const StreamOptions& options :
       {Options(4, 8), Options(16, 16, SearchMethod::kPrefixBeam), Options(kWhole, kUnlimited),
        WithEndpoints(Options(4, 8), 0.15)}) {
    for (const size_t at : {size_t{0}, size_t{399}, size_t{5000}, size_t{10240}, size_t{31111}}) {
      SCOPED_TRACE(Describe(options) + ", after " + std::to_string(at));
      const std::vector<float> before(samples.begin(),
                                      samples.begin() + static_cast<std::ptrdiff_t>(at));
      std::vector<Utterance> expected = UtterancesOf(before, options);
      expected.back().end = UtteranceEnd::kFinalize;
      if (expected.back().searched_ms == 0) expected.clear();  // no frame, no utterance
      Stream stream(Tiny(), options);
      stream.AcceptSamples(before.data(), before.size());
      stream.FinalizeUtterance();
      EXPECT_EQ(stream.Text(), "");
      EXPECT_EQ(stream.StableTextSize(), 0U);
      EXPECT_EQ(stream.utterance_index(), static_cast<int64_t>(expected.size()));
      ExpectSameUtterances(stream.TakeUtterances(), expected);
    }
  }
}

// Where the search goes on after tokens that were handed out, of frames from `begin` on.
CutTokens::Place PlaceAfter(const std::vector<Token>& tokens, const std::vector<float>& log_probs,
                            int64_t begin, int32_t token_before) {
  std::vector<TokenSpan> spans;
  for (const Token& token : tokens) {
    if (token.frame >= begin) spans.push_back({token.id, token.frame, token.frame, 0});
  }
  CutTokens cut;
  cut.Add(spans);
  std::vector<int32_t> ids;
  const auto num_frames = static_cast<int64_t>(log_probs.size() / 7);
  for (int64_t t = begin; t < std::min(num_frames, cut.end_frame()); ++t) {
    const auto row = log_probs.begin() + 7 * t;
    ids.push_back(static_cast<int32_t>(std::max_element(row, row + 7) - row));
  }
  return cut.Pass(ids, 0, {begin, token_before}).value();
}

TEST(StreamUtterancesTest, TheStreamGoesOnAfterFinalizeUtterance) {
  // The frames from the last token on are searched again. They are those of a stream that nobody
  // interrupted, to the bit.
  const std::vector<float> samples = NoiseOfChangingLevel(64000, 10);
  constexpr uint64_t kSeed = 101;
  std::mt19937_64 random(kSeed);
  int num_going_on = 0;
  for (const StreamOptions& options :
       {Options(4, 8), Options(16, 16, SearchMethod::kPrefixBeam), Options(3, kUnlimited)}) {
    const std::vector<float> log_probs = LogProbsOf(samples, options);
    for (int round = 0; round < 5; ++round) {
      const size_t at = random() % samples.size();
      SCOPED_TRACE(Describe(options) + ", after " + std::to_string(at) + ", seed " +
                   std::to_string(kSeed));
      Stream stream(Tiny(), options);
      stream.AcceptSamples(samples.data(), at);
      stream.FinalizeUtterance();
      if (round % 2 == 0) stream = Stream::Restore(Tiny(), stream.Snapshot());
      if (round % 3 == 0) stream = Stream(stream);
      const std::vector<Utterance> first = stream.TakeUtterances();
      ASSERT_EQ(first.size(), 1U);
      const int64_t num_computed = stream.num_encoder_frames();
      stream.AcceptSamples(samples.data() + at, samples.size() - at);
      stream.Finish();
      stream.Decode();
      const std::vector<Utterance> second = stream.TakeUtterances();
      ASSERT_EQ(second.size(), 1U);
      const auto search = MakeCtcSearch(options.search, 7, 0);
      const std::vector<Token>& tokens = first[0].nbest[0].tokens;
      search->Advance(log_probs.data(), num_computed);
      search->ContinueAfter(search->NBest(1).front().tokens);
      if (!tokens.empty() && tokens.back().frame >= num_computed) {
        const CutTokens::Place place =
            PlaceAfter(tokens, log_probs, num_computed, search->TokenOfLastFrame());
        search->StartUtteranceAfter(place.token_before, place.frame);
        ++num_going_on;
      }
      const int64_t begin = search->num_frames();
      const auto num_frames = static_cast<int64_t>(log_probs.size() / 7);
      search->Advance(log_probs.data() + 7 * begin, num_frames - begin);
      const TokenSequence expected = search->NBest(1).front();
      const Hypothesis& actual = second[0].nbest.front();
      EXPECT_NEAR(actual.score, expected.score, 1e-5 * std::max(1.0, std::abs(expected.score)));
      ASSERT_EQ(actual.tokens.size(), expected.tokens.size());
      for (size_t i = 0; i < expected.tokens.size(); ++i) {
        EXPECT_EQ(actual.tokens[i].id, expected.tokens[i].id);
        EXPECT_EQ(actual.tokens[i].frame, expected.tokens[i].first_frame);
      }
    }
  }
  EXPECT_GT(num_going_on, 0);
}

// Greedy search. Of the tokens of a stream that nobody interrupts, one that is not in the utterance
// that FinalizeUtterance ends is in the next one.
TEST(StreamUtterancesTest, FinalizeUtteranceLosesNoToken) {
  constexpr int64_t kMostShift = 3;  // frames by which a token moves with the audio after it
  size_t num_in_last_chunk = 0;
  for (const StreamOptions& options : {Options(4, 8), Options(16, 16), Options(kWhole, 16)}) {
    const std::vector<float> samples = NoiseOfChangingLevel(32000, 12);
    const std::vector<Token> whole = UtterancesOf(samples, options)[0].nbest[0].tokens;
    for (size_t at = 2000; at < samples.size(); at += 310) {
      SCOPED_TRACE(Describe(options) + ", after " + std::to_string(at));
      Stream stream(Tiny(), options);
      stream.AcceptSamples(samples.data(), at);
      stream.FinalizeUtterance();
      const int64_t num_computed = stream.num_encoder_frames();
      stream.AcceptSamples(samples.data() + at, samples.size() - at);
      stream.Finish();
      stream.Decode();
      const std::vector<Utterance> utterances = stream.TakeUtterances();
      ASSERT_EQ(utterances.size(), 2U);
      const std::vector<Token>& first = utterances[0].nbest[0].tokens;
      const std::vector<Token>& second = utterances[1].nbest[0].tokens;
      // Frames after which nothing was handed out.
      int64_t end = num_computed;
      if (!first.empty() && first.back().frame >= num_computed) {
        end = first.back().frame + kMostShift + 1;
        ++num_in_last_chunk;
      }
      const auto after = [end](const Token& token) { return token.frame >= end; };
      std::vector<Token> expected;
      std::copy_if(whole.begin(), whole.end(), std::back_inserter(expected), after);
      std::vector<Token> actual;
      std::copy_if(second.begin(), second.end(), std::back_inserter(actual), after);
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(actual[i].id, expected[i].id);
        EXPECT_EQ(actual[i].frame, expected[i].frame);
      }
      // With the same tokens before the cut, both are those of the uninterrupted stream.
      const bool is_prefix =
          first.size() <= whole.size() &&
          std::equal(first.begin(), first.end(), whole.begin(), [](const Token& a, const Token& b) {
            return a.id == b.id && a.frame == b.frame;
          });
      if (is_prefix) {
        EXPECT_EQ(first.size() + second.size(), whole.size());
      }
    }
  }
  EXPECT_GT(num_in_last_chunk, 50U);
}

TEST(StreamUtterancesTest, FinalizingTwiceEndsOneUtterance) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 11);
  Stream stream(Tiny(), Options(4, 8));
  stream.AcceptSamples(samples.data(), samples.size());
  stream.FinalizeUtterance();
  stream.FinalizeUtterance();
  stream.Finish();
  stream.Decode();
  EXPECT_NO_THROW(stream.FinalizeUtterance()) << "does nothing at the end";
  const std::vector<Utterance> utterances = stream.TakeUtterances();
  ASSERT_EQ(utterances.size(), 2U);
  EXPECT_NE(utterances[0].nbest[0].text, "");
  EXPECT_EQ(utterances[0].end, UtteranceEnd::kFinalize);
  EXPECT_EQ(utterances[1].nbest[0].text, "");
  EXPECT_EQ(utterances[1].searched_ms, utterances[0].searched_ms);
  EXPECT_EQ(utterances[1].end, UtteranceEnd::kFinish);
}

TEST(StreamUtterancesTest, AResetEncoderBeginsLikeANewStream) {
  // After the chunk in which an utterance ended, the stream computes what a new stream computes
  // that begins with the first audio of the next chunk.
  const std::vector<float> samples = NoiseOfChangingLevel(48000, 12);
  StreamOptions options = WithEndpoints(Options(4, kUnlimited), 0.99);
  options.endpoints.rules = {{{false, 100, 0}, {true, 100, 0}, {false, 0, 0.64}}};  // 16 frames
  options.endpoints.reset_encoder = true;
  const std::vector<Utterance> utterances = UtterancesOf(samples, options);
  ASSERT_GE(utterances.size(), 4U);
  for (size_t i = 1; i + 1 < utterances.size(); ++i) {
    // 16 encoder frames are 64 frames of 160 samples, and four chunks: the encoder begins with the
    // utterance.
    const auto begin = static_cast<std::ptrdiff_t>(std::lround(utterances[i - 1].searched_ms * 16));
    const std::vector<Utterance> expected =
        UtterancesOf({samples.begin() + begin, samples.end()}, options);
    EXPECT_EQ(utterances[i].nbest[0].text, expected[0].nbest[0].text);
    EXPECT_NEAR(utterances[i].nbest[0].score, expected[0].nbest[0].score,
                testing::kBatchScoreTolerance);
  }
  // It makes a difference.
  options.endpoints.reset_encoder = false;
  EXPECT_NE(UtterancesOf(samples, options)[2].nbest[0].score, utterances[2].nbest[0].score);
}

TEST(StreamUtterancesTest, AStreamOfUtterancesDoesNotGrow) {
  for (const StreamOptions& options :
       {WithEndpoints(Options(16, 16), 0.15),
        WithEndpoints(Options(16, 16, SearchMethod::kPrefixBeam), 0.15)}) {
    Stream stream(Tiny(), options);
    size_t largest_early = 0;
    size_t largest_late = 0;
    int64_t num_utterances = 0;
    constexpr int kSeconds = 300;
    for (int second = 0; second < kSeconds; ++second) {
      const std::vector<float> samples = NoiseOfChangingLevel(16000, static_cast<uint64_t>(second));
      stream.AcceptSamples(samples.data(), samples.size());
      stream.Decode();
      num_utterances += static_cast<int64_t>(stream.TakeUtterances().size());
      size_t& largest = second < kSeconds / 10 ? largest_early : largest_late;
      if (second > 5) largest = std::max(largest, stream.Snapshot().size());
    }
    EXPECT_EQ(num_utterances, stream.utterance_index());
    EXPECT_GE(num_utterances, 300);
    EXPECT_LE(largest_late, largest_early + 4096) << Describe(options);
  }
}

TEST(StreamUtterancesTest, TextsAreOfTheUtteranceThatIsSpokenNow) {
  const std::vector<float> samples = NoiseOfChangingLevel(64000, 13);
  Stream stream(Tiny(), WithEndpoints(Options(4, 8, SearchMethod::kPrefixBeam), 0.15));
  int64_t index = 0;
  std::string stable;
  for (size_t at = 0; at + 640 <= samples.size(); at += 640) {
    stream.AcceptSamples(samples.data() + at, 640);
    stream.Decode();
    for (const Utterance& utterance : stream.TakeUtterances()) {
      EXPECT_EQ(utterance.index, index++);
      EXPECT_NE(utterance.nbest[0].text, "");
      EXPECT_LT(utterance.start_ms, utterance.end_ms);
      EXPECT_LE(utterance.end_ms, utterance.searched_ms);
      stable.clear();
    }
    EXPECT_EQ(stream.utterance_index(), index);
    if (stream.StableTextSize() < stable.size()) stable.clear();  // begun anew without text
    const std::string text = stream.Text();
    EXPECT_EQ(text.substr(0, stable.size()), stable);
    stable = text.substr(0, stream.StableTextSize());
    const std::vector<Token> tokens = stream.TokensSince(0);
    for (const Token& token : tokens)
      EXPECT_LE(token.end_ms, 40.0 * static_cast<double>(stream.num_encoder_frames()));
  }
  EXPECT_GE(index, 10);
}

TEST(StreamUtterancesTest, WrongOptionsAreNamed) {
  const auto message = [](const auto& change) {
    StreamOptions options = Options(4, 8);
    change(&options);
    return testing::ErrorMessage<std::invalid_argument>([&] { Stream(Tiny(), options); });
  };
  EXPECT_EQ(message([](StreamOptions* o) { o->endpoints.rules[1].min_silence_s = -1; }),
            "endpoints.rules[1].min_silence_s is -1, expected 0 to 86400 s");
  EXPECT_EQ(message([](StreamOptions* o) { o->endpoints.rules[2].min_utterance_s = 1e9; }),
            "endpoints.rules[2].min_utterance_s is 1000000000, expected 0 to 86400 s");
  EXPECT_EQ(
      message([](StreamOptions* o) { o->endpoints.silence_blank_probability = std::nan(""); }),
      "endpoints.silence_blank_probability is nan, expected 1e-06 to 1");
  EXPECT_EQ(message([](StreamOptions* o) { o->nbest = 0; }), "nbest is 0, expected 1 to 10000");
}

}  // namespace
}  // namespace runnel
