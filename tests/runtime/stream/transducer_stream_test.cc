// Streams of transducers: equal to one search of the whole utterance, alone and in any batch, for
// any packets, in every precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model.h"
#include "runtime/model/model_parts.h"
#include "runtime/search/transducer_search.h"
#include "runtime/stream.h"
#include "runtime/stream/transducer_decoding.h"
#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"
#include "tests/support/random_heads.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::AllHeads;
using testing::AllOptions;
using testing::DescribeSearch;
using testing::Heads;
using testing::ModelWith;
using testing::NameOf;
using testing::NoiseOfChangingLevel;
using testing::UtterancesOf;

constexpr size_t kRate = 16000;  // Hz

std::vector<Precision> AllPrecisions() {
  return {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8};
}

std::string Describe(Heads heads, Precision precision) {
  return NameOf(heads) + ", precision " + std::to_string(static_cast<int>(precision));
}

// What the other tests rest on: there are tokens, of several kinds, and frames without one.
TEST(TransducerStreamTest, EverySearchEmitsSeveralTokensPerSecond) {
  constexpr size_t kSeconds = 20;
  const std::vector<float> samples = NoiseOfChangingLevel(kSeconds * kRate, 3);
  for (const Heads heads : AllHeads()) {
    for (const StreamOptions& options : AllOptions(*ModelWith(heads))) {
      if (options.endpoints.enabled || options.search.head == Head::kCtc) continue;
      SCOPED_TRACE(NameOf(heads) + ", " + DescribeSearch(options));
      const std::vector<Utterance> utterances = UtterancesOf(samples, options, ModelWith(heads));
      ASSERT_EQ(utterances.size(), 1U);
      const std::vector<Token>& tokens = utterances[0].nbest[0].tokens;
      EXPECT_GE(tokens.size(), 3 * kSeconds);
      EXPECT_LE(tokens.size(), 24 * kSeconds);
      std::set<int32_t> ids;
      for (const Token& token : tokens) ids.insert(token.id);
      EXPECT_GE(ids.size(), 3U);
    }
  }
}

// Gives the search the frames of these samples from its next one on, up to `end_frame`.
void SearchFrames(const Model& model, const std::vector<float>& samples,
                  const StreamOptions& options, int64_t end_frame, TransducerSearch* search) {
  const ModelParts& parts = model.parts();
  const Matrix all = testing::EncoderFramesAtOnce(model, samples, options);
  const int64_t first_frame = search->num_frames();
  const Matrix rows(all.rows().Part(first_frame, std::min(end_frame, all.count()) - first_frame));
  const Matrix projected = parts.transducer->ProjectEncoder(rows.rows());
  std::optional<Matrix> ctc_log_probs;
  if (parts.ctc_head != nullptr) ctc_log_probs = ToFloat32(parts.ctc_head->LogProbs(rows.rows()));
  std::vector<TransducerSegment> segments(1);
  segments[0].search = search;
  segments[0].encoder = projected.rows();
  if (ctc_log_probs) segments[0].ctc_log_probs = std::as_const(*ctc_log_probs).rows().float32();
  segments[0].after_frame = [] {};
  SearchTransducer(*parts.transducer, &segments);
  EXPECT_EQ(segments[0].error, "");
}

constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

// All frames searched at once, best sequence.
TokenSequence SearchAtOnce(const Model& model, const std::vector<float>& samples,
                           const StreamOptions& options) {
  const auto search = MakeTransducerSearch(options.search, *model.parts().transducer);
  SearchFrames(model, samples, options, kToTheEnd, search.get());
  search->Finish();
  return search->NBest(1).front();
}

void ExpectSame(const Hypothesis& actual, const TokenSequence& expected) {
  EXPECT_EQ(actual.score, expected.score);
  ASSERT_EQ(actual.tokens.size(), expected.tokens.size());
  for (size_t i = 0; i < expected.tokens.size(); ++i) {
    EXPECT_EQ(actual.tokens[i].id, expected.tokens[i].id);
    EXPECT_EQ(actual.tokens[i].frame, expected.tokens[i].first_frame);
    EXPECT_EQ(actual.tokens[i].confidence, expected.tokens[i].confidence);
  }
}

TEST(TransducerStreamTest, AnyPacketsGiveTheSearchOfTheWholeUtteranceUnderTheChunkMask) {
  std::mt19937_64 random(31);
  for (const Precision precision : AllPrecisions()) {
    for (const Heads heads : AllHeads()) {
      const std::shared_ptr<const Model> model = ModelWith(heads, precision);
      for (const StreamOptions& options : AllOptions(*model)) {
        if (options.endpoints.enabled || options.search.head == Head::kCtc) continue;
        SCOPED_TRACE(Describe(heads, precision) + ", " + DescribeSearch(options));
        const std::vector<float> samples = NoiseOfChangingLevel(30000 + random() % 20000, random());
        Stream stream(model, options);
        testing::Feed(&stream, samples, 1 + random() % 8000, &random);
        ExpectSame(stream.Best(), SearchAtOnce(*model, samples, options));
      }
    }
  }
}

void ExpectNoOverlap(const std::vector<Token>& tokens) {
  double end_ms = 0;
  for (const Token& token : tokens) {
    EXPECT_LE(end_ms, token.start_ms);
    EXPECT_LE(token.start_ms, token.end_ms);
    end_ms = token.end_ms;
  }
}

// What a stream shows token by token has the times of all its tokens at once, none of which
// overlap, and neither do words.
TEST(TransducerStreamTest, TimesDoNotOverlapFromAnyTokenOn) {
  for (const Heads heads : AllHeads()) {
    const std::shared_ptr<const Model> model = ModelWith(heads);
    for (const StreamOptions& options : AllOptions(*model)) {
      SCOPED_TRACE(NameOf(heads) + ", " + DescribeSearch(options));
      Stream stream(model, options);
      const std::vector<float> samples = NoiseOfChangingLevel(5 * kRate, 9);
      stream.AcceptSamples(samples.data(), samples.size());
      stream.Finish();
      while (DecodeChunks({&stream}) > 0) {
        const std::vector<Token> all = stream.TokensSince(0);
        ExpectNoOverlap(all);
        for (size_t first = 0; first <= stream.NumStableTokens(); ++first) {
          const std::vector<Token> rest = stream.TokensSince(first);
          ASSERT_EQ(rest.size(), all.size() - first);
          for (size_t i = 0; i < rest.size(); ++i) {
            EXPECT_EQ(rest[i].start_ms, all[first + i].start_ms);
            EXPECT_EQ(rest[i].end_ms, all[first + i].end_ms);
          }
        }
      }
      double end_ms = 0;
      for (const Utterance& utterance : stream.TakeUtterances()) {
        for (const Word& word : utterance.nbest[0].words) {
          EXPECT_LE(end_ms, word.start_ms);
          EXPECT_LE(word.start_ms, word.end_ms);
          end_ms = word.end_ms;
        }
        ExpectNoOverlap(utterance.nbest[0].tokens);
      }
    }
  }
}

// Of a stream that is finalized after each packet.
void ExpectUtterancesWithoutOverlap(const std::shared_ptr<const Model>& model,
                                    const StreamOptions& options, std::mt19937_64* random) {
  Stream stream(model, options);
  for (int packet = 0; packet < 12; ++packet) {
    const std::vector<float> samples = NoiseOfChangingLevel(3000 + (*random)() % 3000, (*random)());
    stream.AcceptSamples(samples.data(), samples.size());
    stream.FinalizeUtterance();
  }
  stream.Finish();
  stream.Decode();
  double end_ms = 0;
  for (const Utterance& utterance : stream.TakeUtterances()) {
    ExpectNoOverlap(utterance.nbest[0].tokens);
    if (utterance.nbest[0].text.empty()) continue;
    EXPECT_LE(end_ms, utterance.start_ms);
    EXPECT_LE(utterance.start_ms, utterance.nbest[0].words.front().start_ms);
    EXPECT_LE(utterance.nbest[0].words.back().end_ms, utterance.end_ms);
    EXPECT_LE(utterance.end_ms, utterance.searched_ms);
    end_ms = utterance.end_ms;
  }
}

// Not even where frames are searched again after FinalizeUtterance.
TEST(TransducerStreamTest, TimesOfUtterancesDoNotOverlap) {
  for (const uint64_t seed : {4, 7, 8, 38}) {
    std::mt19937_64 random(seed);
    for (const Heads heads : AllHeads()) {
      const std::shared_ptr<const Model> model = ModelWith(heads);
      for (const StreamOptions& options : AllOptions(*model)) {
        SCOPED_TRACE(NameOf(heads) + ", " + DescribeSearch(options) + ", seed " +
                     std::to_string(seed));
        ExpectUtterancesWithoutOverlap(model, options, &random);
      }
    }
  }
}

// With durations, a mark has no duration, and a tag in every model.
TEST(TransducerStreamTest, PunctuationAndTagsTakeNoTime) {
  const std::shared_ptr<const Model> model = ModelWith(Heads::kTdt);
  int num_late = 0;
  for (const Utterance& utterance : UtterancesOf(NoiseOfChangingLevel(20 * kRate, 3), {}, model)) {
    const std::vector<Token>& tokens = utterance.nbest[0].tokens;
    for (size_t i = 1; i < tokens.size(); ++i) {
      const std::string& name = model->tokens().name(tokens[i].id);
      if (name != "." && name != "<en-US>") continue;
      EXPECT_EQ(tokens[i].start_ms, tokens[i - 1].end_ms);
      EXPECT_EQ(tokens[i].end_ms, tokens[i].start_ms);
      const double emitted_ms = static_cast<double>(tokens[i].frame) * model->encoder_frame_ms();
      num_late += tokens[i].start_ms < emitted_ms ? 1 : 0;
    }
    EXPECT_EQ(utterance.nbest[0].text.find('<'), std::string::npos);
  }
  EXPECT_GE(num_late, 3);
}

bool IsEndToken(const Model& model, const Token& token) { return model.tokens().IsEnd(token.id); }

// Behind an end token, without endpoints, a search goes on as one that begins there.
TEST(TransducerStreamTest, AnEndTokenLetsThePredictorBeginAnew) {
  const std::shared_ptr<const Model> model = ModelWith(Heads::kKinds);
  const std::vector<float> samples = NoiseOfChangingLevel(20 * kRate, 3);
  const StreamOptions options = AllOptions(*model).front();  // greedy
  const std::vector<Token> tokens =
      UtterancesOf(samples, options, model).front().nbest.front().tokens;
  int num_ends = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!IsEndToken(*model, tokens[i])) continue;
    ++num_ends;
    const auto search = MakeTransducerSearch(options.search, *model->parts().transducer);
    search->StartUtterance(tokens[i].frame + 1);
    SearchFrames(*model, samples, options, kToTheEnd, search.get());
    const std::vector<TokenSpan> rest = search->BestTokensSince(0);
    ASSERT_EQ(rest.size(), tokens.size() - i - 1);
    for (size_t k = 0; k < rest.size(); ++k) {
      EXPECT_EQ(rest[k].id, tokens[i + 1 + k].id);
      EXPECT_EQ(rest[k].first_frame, tokens[i + 1 + k].frame);
    }
  }
  EXPECT_GE(num_ends, 3);
}

// The ids of tokens that have letters, and their frames. An utterance without letters is none.
std::vector<std::pair<int32_t, int64_t>> TextTokens(const std::vector<Utterance>& utterances,
                                                    const Model& model) {
  std::vector<std::pair<int32_t, int64_t>> tokens;
  for (const Utterance& utterance : utterances) {
    for (const Token& token : utterance.nbest.front().tokens) {
      const std::string& text = model.tokens().text(token.id);
      if (!text.empty() && text != " ") tokens.emplace_back(token.id, token.frame);
    }
  }
  return tokens;
}

std::vector<int32_t> TokenIds(const Hypothesis& hypothesis) {
  std::vector<int32_t> ids;
  for (const Token& token : hypothesis.tokens) ids.push_back(token.id);
  return ids;
}

// With endpoints, every utterance but the last one ends with its only end token. Where no other
// rule holds, greedy search finds the same text as without endpoints.
TEST(TransducerStreamTest, EndTokensEndUtterances) {
  const std::shared_ptr<const Model> model = ModelWith(Heads::kKinds);
  const std::vector<float> samples = NoiseOfChangingLevel(20 * kRate, 3);
  for (StreamOptions options : AllOptions(*model)) {
    if (options.endpoints.enabled) continue;
    SCOPED_TRACE(DescribeSearch(options));
    const std::vector<Utterance> whole = UtterancesOf(samples, options, model);
    options.endpoints.enabled = true;
    for (EndpointRule& rule : options.endpoints.rules) {
      rule.min_utterance_s = EndpointOptions::kMaxSeconds;
    }
    const std::vector<Utterance> utterances = UtterancesOf(samples, options, model);
    ASSERT_GE(utterances.size(), 3U);
    for (const Utterance& utterance : utterances) {
      const std::vector<Token>& tokens = utterance.nbest.front().tokens;
      const bool is_last = &utterance == &utterances.back();
      EXPECT_EQ(utterance.end, is_last ? UtteranceEnd::kFinish : UtteranceEnd::kEndToken);
      if (is_last) continue;
      EXPECT_FALSE(utterance.nbest.front().text.empty());
      EXPECT_TRUE(utterance.nbest.front().language == "en" ||
                  utterance.nbest.front().language == "de");
      if (options.search.method == SearchMethod::kGreedy) {
        EXPECT_TRUE(IsEndToken(*model, tokens.back()));
        EXPECT_EQ(std::count_if(tokens.begin(), tokens.end(),
                                [&](const Token& token) { return IsEndToken(*model, token); }),
                  1);
      }
    }
    if (options.search.method == SearchMethod::kGreedy) {
      EXPECT_EQ(TextTokens(utterances, *model), TextTokens(whole, *model));
    }
  }
}

// An option shows the tokens, and changes nothing else.
TEST(TransducerStreamTest, SpecialTokensAreShown) {
  const std::shared_ptr<const Model> model = ModelWith(Heads::kKinds);
  const std::vector<float> samples = NoiseOfChangingLevel(20 * kRate, 3);
  StreamOptions options = AllOptions(*model).front();
  const Hypothesis hidden = UtterancesOf(samples, options, model).front().nbest.front();
  options.show_special_tokens = true;
  Stream stream(model, options);
  std::mt19937_64 random(5);
  testing::Feed(&stream, samples, 4000, &random);
  const Hypothesis shown = Stream::Restore(model, stream.Snapshot(), {}).Best();
  EXPECT_EQ(stream.Best().text, shown.text);
  EXPECT_EQ(stream.Text(), shown.text);
  ASSERT_EQ(shown.tokens.size(), hidden.tokens.size());
  EXPECT_EQ(shown.score, hidden.score);
  EXPECT_EQ(hidden.text.find("<EOU>"), std::string::npos);
  EXPECT_NE(shown.text.find("<EOU>"), std::string::npos);
  EXPECT_GT(shown.words.size(), hidden.words.size());
}

// Utterances without other text are empty, and hypotheses without other texts equal, whether their
// tokens are shown or not.
TEST(TransducerStreamTest, ShownTokensChangeNoOtherResult) {
  const std::shared_ptr<const Model> model = ModelWith(Heads::kKinds);
  const std::vector<float> samples = NoiseOfChangingLevel(20 * kRate, 4);
  for (StreamOptions options : AllOptions(*model)) {
    SCOPED_TRACE(DescribeSearch(options));
    options.endpoints.enabled = true;
    const std::vector<Utterance> hidden = UtterancesOf(samples, options, model);
    options.show_special_tokens = true;
    const std::vector<Utterance> shown = UtterancesOf(samples, options, model);
    ASSERT_EQ(shown.size(), hidden.size());
    for (size_t i = 0; i < shown.size(); ++i) {
      EXPECT_EQ(shown[i].end, hidden[i].end);
      ASSERT_EQ(shown[i].nbest.size(), hidden[i].nbest.size());
      for (size_t k = 0; k < shown[i].nbest.size(); ++k) {
        EXPECT_EQ(TokenIds(shown[i].nbest[k]), TokenIds(hidden[i].nbest[k]));
        EXPECT_EQ(shown[i].nbest[k].score, hidden[i].nbest[k].score);
        EXPECT_EQ(shown[i].nbest[k].language, hidden[i].nbest[k].language);
      }
    }
  }
}

// The tokens of `handed_out` as the search has them.
std::vector<TokenSpan> TokensOf(const Hypothesis& handed_out, const TransducerSearch& search) {
  constexpr int kAll = 1000;
  for (const TokenSequence& sequence : search.NBest(kAll)) {
    const bool is_same = std::equal(
        sequence.tokens.begin(), sequence.tokens.end(), handed_out.tokens.begin(),
        handed_out.tokens.end(), [](const TokenSpan& a, const Token& b) { return a.id == b.id; });
    if (is_same) return sequence.tokens;
  }
  ADD_FAILURE() << "the search has no such sequence";
  return {};
}

// The next utterance goes on after the last token, with the frames that the encoder computes with
// the audio that follows, and from the hypothesis that was handed out: rescoring may prefer another
// one than the search.
TEST(TransducerStreamTest, TheNextUtteranceGoesOnAfterTheLastToken) {
  std::mt19937_64 random(35);
  int num_again = 0;      // streams that search frames again
  int num_reordered = 0;  // of these, by rescoring
  for (const Heads heads : AllHeads()) {
    const std::shared_ptr<const Model> model = ModelWith(heads);
    for (StreamOptions options : AllOptions(*model)) {
      if (options.endpoints.enabled || options.search.head == Head::kCtc) continue;
      const bool is_rescored = options.search.rescoring.enabled;
      if (is_rescored) {
        options.chunk_size = 12;  // so that most of the last tokens are searched again
        options.search.beam_size = 8;
        options.search.rescoring.first_pass_weight = 0;
      }
      const int num_rounds = is_rescored ? 30 : 1;
      for (int round = 0; round < num_rounds; ++round) {
        SCOPED_TRACE(NameOf(heads) + ", " + DescribeSearch(options) + ", round " +
                     std::to_string(round));
        const std::vector<float> samples = NoiseOfChangingLevel(40000, random());
        const size_t end = 10000 + random() % 20000;
        Stream stream(model, options);
        stream.AcceptSamples(samples.data(), end);
        stream.FinalizeUtterance();
        const std::vector<Utterance> ended = stream.TakeUtterances();
        ASSERT_EQ(ended.size(), 1U);
        const int64_t num_computed = stream.num_encoder_frames();
        const auto search = MakeTransducerSearch(options.search, *model->parts().transducer);
        SearchFrames(*model, {samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(end)},
                     options, kToTheEnd, search.get());
        search->Finish();
        const std::vector<TokenSpan> tokens = TokensOf(ended[0].nbest[0], *search);
        if (!tokens.empty() && tokens.back().first_frame >= num_computed) {
          num_reordered +=
              tokens.size() != search->BestIds().size() ||
                      !std::equal(tokens.begin(), tokens.end(), search->BestIds().begin(),
                                  [](const TokenSpan& a, int32_t b) { return a.id == b; })
                  ? 1
                  : 0;
          search->ReturnTo(tokens, 0);
          ++num_again;
        } else {
          search->Reset();
          SearchFrames(*model, samples, options, num_computed, search.get());
          search->ContinueAfter(tokens);
        }
        EXPECT_EQ(stream.text_begin(), search->num_frames());
        stream.AcceptSamples(samples.data() + end, samples.size() - end);
        stream.Finish();
        stream.Decode();
        SearchFrames(*model, samples, options, kToTheEnd, search.get());
        search->Finish();
        ExpectSame(stream.Best(), search->NBest(1).front());
      }
    }
  }
  EXPECT_GE(num_again, 10);
  EXPECT_GE(num_reordered, 3);
}

// Greedy search. If the utterance that FinalizeUtterance ends has the first tokens of a stream that
// nobody interrupts, then the next one has the others. Not so with TDT: the same token may have
// another duration without the audio after it.
TEST(TransducerStreamTest, BothUtterancesHaveTheTokensOfAStreamThatNobodyInterrupts) {
  std::mt19937_64 random(36);
  const auto is_same = [](const Token& a, const Token& b) {
    return a.id == b.id && a.frame == b.frame;
  };
  int num_equal = 0;
  for (const Heads heads : AllHeads()) {
    if (heads == Heads::kTdt) continue;
    const std::shared_ptr<const Model> model = ModelWith(heads);
    StreamOptions options = testing::Options(8, 16);
    options.search.head = Head::kTransducer;
    const std::vector<float> samples = NoiseOfChangingLevel(32000, random());
    const std::vector<Token> whole = UtterancesOf(samples, options, model)[0].nbest[0].tokens;
    for (size_t end = 2000; end < samples.size(); end += 1500) {
      SCOPED_TRACE(NameOf(heads) + ", after " + std::to_string(end));
      Stream stream(model, options);
      stream.AcceptSamples(samples.data(), end);
      stream.FinalizeUtterance();
      stream.AcceptSamples(samples.data() + end, samples.size() - end);
      stream.Finish();
      stream.Decode();
      std::vector<Utterance> utterances = stream.TakeUtterances();
      ASSERT_EQ(utterances.size(), 2U);
      std::vector<Token> tokens = utterances[0].nbest[0].tokens;
      if (tokens.size() > whole.size() ||
          !std::equal(tokens.begin(), tokens.end(), whole.begin(), is_same)) {
        continue;
      }
      ++num_equal;
      const std::vector<Token>& second = utterances[1].nbest[0].tokens;
      tokens.insert(tokens.end(), second.begin(), second.end());
      EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), whole.begin(), whole.end(), is_same));
    }
  }
  EXPECT_GE(num_equal, 30);
}

// Greedy search. A rule of length cuts words; the utterances have the tokens of the stream without
// rules.
TEST(TransducerStreamTest, UtterancesOfARuleOfLengthHaveAllTokens) {
  for (const Heads heads : AllHeads()) {
    SCOPED_TRACE(NameOf(heads));
    const std::shared_ptr<const Model> model = ModelWith(heads);
    StreamOptions options = testing::Options(8, 16);
    options.search.head = Head::kTransducer;
    const std::vector<float> samples = NoiseOfChangingLevel(10 * kRate, 37);
    // An utterance of other tokens begins anew instead of ending.
    const auto tokens_with_text = [&] {
      std::vector<Token> tokens;
      for (const Utterance& utterance : UtterancesOf(samples, options, model)) {
        for (const Token& token : utterance.nbest[0].tokens) {
          if (!model->tokens().Text({token.id}).empty()) tokens.push_back(token);
        }
      }
      return tokens;
    };
    const std::vector<Token> whole = tokens_with_text();
    options.endpoints.enabled = true;
    options.endpoints.rules = {{{false, 1000, 0}, {true, 1000, 0}, {false, 0, 0.5}}};
    const std::vector<Token> tokens = tokens_with_text();
    ASSERT_EQ(tokens.size(), whole.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      EXPECT_EQ(tokens[i].id, whole[i].id);
      EXPECT_EQ(tokens[i].frame, whole[i].frame);
    }
  }
}

// A stream on its way through its audio.
struct Listener {
  Stream stream;
  std::vector<float> samples;
  std::vector<Utterance> utterances;
  size_t position = 0;

  bool is_over() const { return stream.IsFinal(); }
  void AcceptSome(std::mt19937_64* random) {
    if (stream.finished()) return;
    const size_t count = std::min(samples.size() - position, (*random)() % 5000);
    stream.AcceptSamples(samples.data() + position, count);
    position += count;
    if (position == samples.size()) stream.Finish();
  }
};

TEST(TransducerStreamTest, StreamsOfEverySearchTogetherGiveWhatEachGivesAlone) {
  std::mt19937_64 random(32);
  size_t num_utterances = 0;
  for (const Precision precision : AllPrecisions()) {
    for (const Heads heads : AllHeads()) {
      SCOPED_TRACE(Describe(heads, precision));
      const std::shared_ptr<const Model> model = ModelWith(heads, precision);
      std::vector<Listener> listeners;
      for (const StreamOptions& options : AllOptions(*model)) {
        listeners.push_back(
            {Stream(model, options), NoiseOfChangingLevel(random() % 50000, random()), {}});
      }
      while (!std::all_of(listeners.begin(), listeners.end(),
                          [](const Listener& listener) { return listener.is_over(); })) {
        std::vector<Stream*> together;
        for (Listener& listener : listeners) {
          if (random() % 3 != 0) listener.AcceptSome(&random);
          if (random() % 5 == 0) {
            testing::Append(&listener.utterances, listener.stream.TakeUtterances());
          }
          if (random() % 4 != 0) together.push_back(&listener.stream);
        }
        std::shuffle(together.begin(), together.end(), random);
        DecodeChunks(together);
      }
      for (Listener& listener : listeners) {
        const StreamOptions& options = listener.stream.options();
        SCOPED_TRACE(DescribeSearch(options));
        testing::Append(&listener.utterances, listener.stream.TakeUtterances());
        testing::ExpectSameUtterances(listener.utterances,
                                      UtterancesOf(listener.samples, options, model));
        num_utterances += listener.utterances.size();
      }
    }
  }
  EXPECT_GT(num_utterances, 500U);
}

TEST(TransducerStreamTest, ConfidencesAreProbabilities) {
  const std::vector<float> samples = NoiseOfChangingLevel(80000, 33);
  for (const Heads heads : AllHeads()) {
    for (const StreamOptions& options : AllOptions(*ModelWith(heads))) {
      SCOPED_TRACE(NameOf(heads) + ", " + DescribeSearch(options));
      for (const Utterance& utterance : UtterancesOf(samples, options, ModelWith(heads))) {
        for (const Hypothesis& hypothesis : utterance.nbest) {
          for (const Token& token : hypothesis.tokens) {
            EXPECT_GE(token.confidence, 0);
            EXPECT_LE(token.confidence, 1);
          }
          float sum = 0;
          for (const Word& word : hypothesis.words) sum += word.confidence;
          const auto num_words = static_cast<float>(hypothesis.words.size());
          EXPECT_EQ(hypothesis.confidence, num_words == 0 ? 0 : sum / num_words);
          EXPECT_LE(hypothesis.confidence, 1);
        }
      }
    }
  }
}

// Also where a duration of TDT leads over the end of an utterance.
TEST(TransducerStreamTest, TimesAreInOrderAndWithinTheUtterance) {
  const std::vector<float> samples = NoiseOfChangingLevel(80000, 33);
  size_t num_at_end = 0;  // tokens that end with their utterance
  for (const Heads heads : AllHeads()) {
    for (const StreamOptions& options : AllOptions(*ModelWith(heads))) {
      SCOPED_TRACE(NameOf(heads) + ", " + DescribeSearch(options));
      double begin_ms = 0;  // of the utterance
      for (const Utterance& utterance : UtterancesOf(samples, options, ModelWith(heads))) {
        for (const Hypothesis& hypothesis : utterance.nbest) {
          double start_ms = begin_ms;
          for (const Token& token : hypothesis.tokens) {
            EXPECT_GE(token.start_ms, start_ms);
            EXPECT_GE(token.end_ms, token.start_ms);
            EXPECT_LE(token.end_ms, utterance.searched_ms);
            num_at_end += token.end_ms == utterance.searched_ms ? 1 : 0;
            start_ms = token.start_ms;
          }
          for (const Word& word : hypothesis.words) {
            EXPECT_GE(word.start_ms, begin_ms);
            EXPECT_GE(word.end_ms, word.start_ms);
            EXPECT_LE(word.end_ms, utterance.searched_ms);
          }
        }
        begin_ms = utterance.searched_ms;
      }
    }
  }
  EXPECT_GT(num_at_end, 50U);
}

// Features beyond all bounds have no probabilities. After a Reset the stream is as new.
TEST(TransducerStreamTest, AFailureIsNotFeltByTheBatchNorAfterAReset) {
  const std::vector<float> samples = NoiseOfChangingLevel(40000, 34);
  for (const Heads heads : AllHeads()) {
    const std::shared_ptr<const Model> model = ModelWith(heads);
    const std::vector<float> huge(static_cast<size_t>(100 * model->feature_dim()), 3e38F);
    for (const StreamOptions& options : AllOptions(*model)) {
      SCOPED_TRACE(NameOf(heads) + ", " + DescribeSearch(options));
      const std::vector<Utterance> expected = UtterancesOf(samples, options, model);
      Stream failing(model, options);
      failing.AcceptFeatures(huge.data(), 100);
      Stream beside(model, options);
      beside.AcceptSamples(samples.data(), samples.size());
      beside.Finish();
      while (DecodeChunks({&failing, &beside}) > 0) {
      }
      const std::string network =
          options.search.head == Head::kCtc ? ": CTC head, " : ": transducer, ";
      EXPECT_TRUE(testing::Contains(
          failing.failure(), "gives no probabilities for this audio" + network + "encoder frame "))
          << failing.failure();
      testing::ExpectSameUtterances(beside.TakeUtterances(), expected);
      failing.Reset();
      EXPECT_EQ(failing.failure(), "");
      failing.AcceptSamples(samples.data(), samples.size());
      failing.Finish();
      failing.Decode();
      testing::ExpectSameUtterances(failing.TakeUtterances(), expected);
    }
  }
}

}  // namespace
}  // namespace runnel
