// What searches of transducers refuse: probabilities that are no numbers, options without effect.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/search/transducer_search.h"
#include "runtime/stream/transducer_decoding.h"
#include "tests/runtime/search/transducer_search_support.h"
#include "tests/support/error_message.h"
#include "tests/support/random_transducer.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::RandomEncoderRows;
using testing::RandomTransducer;
using testing::SmallTransducer;

TEST(TransducerSearchErrorsTest, ProbabilitiesThatAreNoNumbersEndOneSearchOnly) {
  const TransducerConfig config = SmallTransducer("lstm1", 5);
  const auto transducer = RandomTransducer(config, 4);
  Matrix bad = transducer->ProjectEncoder(RandomEncoderRows(10, 8).rows());
  const Matrix good(std::as_const(bad).rows());
  bad.rows().float32(4)[0] = std::numeric_limits<float>::quiet_NaN();
  for (const SearchOptions& options : AllSearches(config)) {
    const auto failing = MakeTransducerSearch(options, *transducer);
    const auto search = MakeTransducerSearch(options, *transducer);
    std::vector<TransducerSegment> segments(2);
    segments[0].search = failing.get();
    segments[0].encoder = std::as_const(bad).rows();
    segments[1].search = search.get();
    segments[1].encoder = good.rows();
    for (TransducerSegment& segment : segments) segment.after_frame = [] {};
    SearchTransducer(*transducer, &segments);
    EXPECT_EQ(segments[0].error,
              "encoder frame 4, joint network, token 0: expected a logarithm of a probability, "
              "got nan");
    EXPECT_EQ(segments[1].error, "");
    search->Finish();
    const std::vector<TokenSequence> expected = SearchAll(*transducer, good, options, 4);
    ExpectSame(search->NBest(4), expected);
    failing->Reset();  // as new
    std::mt19937_64 random(1);
    Advance(*transducer, {failing.get()}, {&good}, &random, good.count());
    failing->Finish();
    ExpectSame(failing->NBest(4), expected);
  }
}

TEST(TransducerSearchErrorsTest, CtcProbabilitiesThatAreNoNumbersEndTheSearch) {
  const auto transducer = RandomTransducer(SmallTransducer("conv", 5), 4);
  const Matrix projected = transducer->ProjectEncoder(RandomEncoderRows(10, 8).rows());
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> ctc_log_probs(50, std::log(0.2F));
    ctc_log_probs[23] = value;
    SearchOptions options;
    options.method = SearchMethod::kModifiedBeam;
    options.ctc_weight = 0.3;
    const auto search = MakeTransducerSearch(options, *transducer);
    std::vector<TransducerSegment> segments(1);
    segments[0].search = search.get();
    segments[0].encoder = projected.rows();
    segments[0].ctc_log_probs = ctc_log_probs.data();
    segments[0].after_frame = [] {};
    SearchTransducer(*transducer, &segments);
    EXPECT_EQ(segments[0].error,
              "encoder frame 4, CTC head, token 3: expected a logarithm of a probability, got " +
                  std::to_string(value));
    EXPECT_EQ(search->num_frames(), 4);
  }
}

// Durations have a distribution of their own.
TEST(TransducerSearchErrorsTest, DurationsThatAreNoNumbersEndTheSearch) {
  const TransducerConfig config = SmallTransducer("lstm1", 3, {0, 1});
  const auto transducer = RandomTransducer(config, 4);
  const float third = std::log(1 / 3.0F);
  const std::vector<float> answer = {third, third, third, std::log(0.5F),
                                     std::numeric_limits<float>::quiet_NaN()};
  for (const SearchOptions& options : AllSearches(config)) {
    const auto search = MakeTransducerSearch(options, *transducer);
    search->BeginFrame(nullptr);
    EXPECT_TRUE(
        Contains(ErrorMessage<std::invalid_argument>([&] { search->Answer(answer.data()); }),
                 " 1: expected a logarithm of a probability, got nan"));
  }
}

// With all of the weight, a token that the CTC head excludes has probability zero.
TEST(TransducerSearchErrorsTest, NoHypothesisHasProbabilityZero) {
  const auto transducer = RandomTransducer(SmallTransducer("conv", 5), 4);
  const Matrix projected = transducer->ProjectEncoder(RandomEncoderRows(4, 8).rows());
  std::vector<float> ctc_log_probs(20, std::log(0.25F));
  for (size_t t = 0; t < 4; ++t) {
    ctc_log_probs[5 * t + t] = -std::numeric_limits<float>::infinity();  // the blank first
  }
  SearchOptions options;
  options.method = SearchMethod::kModifiedBeam;
  options.beam_size = 5000;
  options.ctc_weight = 1;
  const auto search = MakeTransducerSearch(options, *transducer);
  std::vector<TransducerSegment> segments(1);
  segments[0].search = search.get();
  segments[0].encoder = projected.rows();
  segments[0].ctc_log_probs = ctc_log_probs.data();
  segments[0].after_frame = [] {};
  SearchTransducer(*transducer, &segments);
  EXPECT_EQ(segments[0].error, "");
  for (const TokenSequence& sequence : search->NBest(5000)) {
    EXPECT_TRUE(std::isfinite(sequence.score));
    EXPECT_FALSE(sequence.tokens.empty());
  }
  ExpectSame(Restored(Saved(*search), options, *transducer)->NBest(5000), search->NBest(5000));
}

TEST(TransducerSearchErrorsTest, WrongOptionsAreNamed) {
  const auto transducer = RandomTransducer(SmallTransducer("lstm1", 5), 4);
  SearchOptions options;
  options.max_symbols = -1;
  EXPECT_EQ(
      ErrorMessage<std::invalid_argument>([&] { MakeTransducerSearch(options, *transducer); }),
      "max_symbols is -1, expected 0 to 1000");
}

TEST(TransducerSearchErrorsTest, OptionsWithoutEffectAreRefused) {
  const auto refusal = [](const TransducerConfig& config, SearchMethod method, double ctc_weight) {
    SearchOptions options;
    options.method = method;
    options.ctc_weight = ctc_weight;
    const auto transducer = RandomTransducer(config, 4);
    return ErrorMessage<std::invalid_argument>([&] { MakeTransducerSearch(options, *transducer); });
  };
  const std::string needs = "ctc_weight needs a beam search with one label per frame, got ";
  TransducerConfig config = SmallTransducer("lstm1", 5);
  EXPECT_EQ(refusal(config, SearchMethod::kGreedy, 0.3), needs + "greedy search");
  EXPECT_EQ(refusal(config, SearchMethod::kPrefixBeam, 0.3),
            needs + "the time-synchronous beam search");
  config.beam = TransducerBeam::kPrefix;
  EXPECT_EQ(refusal(config, SearchMethod::kGreedy, 0.3), needs + "greedy search");
  EXPECT_EQ(refusal(SmallTransducer("lstm1", 5, {0, 1, 2}), SearchMethod::kModifiedBeam, 0),
            "modified beam search has no durations, got a TDT model; expected greedy or "
            "beam search");
}

}  // namespace
}  // namespace runnel
