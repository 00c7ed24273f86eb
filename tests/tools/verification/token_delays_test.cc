// Delays of tokens: pairing by edit distance, the audio that a token needs, the table.
#include "tools/verification/token_delays.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model/model_parts.h"
#include "tests/support/error_message.h"
#include "tools/verification/delay_table.h"
#include "tools/verification/token_matching.h"
#include "tools/verification/whole_audio.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using Pairs = std::vector<std::pair<size_t, size_t>>;

const std::string kDigitsFolder = RUNNEL_SOURCE_DIR "/models/digits/";

std::vector<TimedToken> RandomTokens(std::mt19937_64* random) {
  std::vector<TimedToken> tokens((*random)() % 5);
  double time = 0;
  for (TimedToken& token : tokens) {
    time += 40 * static_cast<double>(1 + (*random)() % 4);
    token = {static_cast<int32_t>((*random)() % 2), time};
  }
  return tokens;
}

// The equal pairs of every alignment with the fewest edits and, of those, the least distance.
std::set<Pairs> BestPairings(const std::vector<TimedToken>& a, const std::vector<TimedToken>& b) {
  std::pair<int, double> least = {1000, 0};
  std::set<Pairs> best;
  Pairs pairs;
  const std::function<void(size_t, size_t, int, double)> walk = [&](size_t i, size_t j, int edits,
                                                                    double distance) {
    if (i == a.size() && j == b.size()) {
      const std::pair cost = {edits, distance};
      if (cost < least) best.clear();
      least = std::min(least, cost);
      if (cost == least) best.insert(pairs);
      return;
    }
    if (i < a.size()) walk(i + 1, j, edits + 1, distance);
    if (j < b.size()) walk(i, j + 1, edits + 1, distance);
    if (i == a.size() || j == b.size()) return;
    const bool is_equal = a[i].id == b[j].id;
    if (is_equal) pairs.emplace_back(i, j);
    walk(i + 1, j + 1, edits + (is_equal ? 0 : 1),
         distance + std::abs(a[i].start_ms - b[j].start_ms));
    if (is_equal) pairs.pop_back();
  };
  walk(0, 0, 0, 0);
  return best;
}

TEST(MatchTokensTest, IsABestOfAllAlignments) {
  for (unsigned seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::vector<TimedToken> a = RandomTokens(&random);
    const std::vector<TimedToken> b = RandomTokens(&random);
    EXPECT_EQ(BestPairings(a, b).count(MatchTokens(a, b)), 1U);
  }
}

TEST(MatchTokensTest, RepeatedTokensArePairedByTime) {
  const std::vector<TimedToken> reference = {{5, 0}, {5, 400}, {5, 800}};
  EXPECT_EQ(MatchTokens({{5, 440}}, reference), (Pairs{{0, 1}}));
  EXPECT_EQ(MatchTokens({{5, 40}, {5, 840}}, reference), (Pairs{{0, 0}, {1, 2}}));
}

// The samples of the digit model, in `setting`.
class DigitDelaysTest : public ::testing::TestWithParam<StreamingSetting> {
 protected:
  static std::vector<float> Samples(const std::string& name) {
    return ReadSamples(kDigitsFolder + "samples/" + name, 16000, {});
  }
  static StreamOptions Options() {
    StreamOptions options;
    options.chunk_size = GetParam().chunk_size;
    options.left_context = GetParam().left_context;
    return options;
  }

  const std::shared_ptr<const Model> model_ = Model::Load(kDigitsFolder + "digits.pt");
  const std::vector<std::string> names_ = {"rms_phone_number.flac", "ked_year.flac",
                                           "alicia_countdown.flac", "rms_telephone.wav"};
};

TEST_P(DigitDelaysTest, LieWithinTheBoundsOfTheChunks) {
  const DelayMeasurement measurement(model_, Options());
  EXPECT_EQ(measurement.alignment_setting().Name(), "C=full M=all");
  const int64_t right_context = model_->parts().encoder.subsampling().right_context();
  const FrameGeometry& frames = model_->parts().frame_extractor->geometry();
  // From the start of an encoder frame to the end of the last window that it reads.
  const double frame_needs_ms =
      static_cast<double>(right_context * frames.shift + frames.length) / 16;
  for (const std::string& name : names_) {
    SCOPED_TRACE(name);
    const std::vector<float> samples = Samples(name);
    const RecordingDelays delays = measurement.Measure(samples, std::nullopt);
    EXPECT_GT(delays.tokens.size(), 10U);
    EXPECT_LE(delays.tokens.size(), delays.num_reference_tokens);
    for (const TokenDelay& delay : delays.tokens) {
      const double wait_ms = delay.text_ms - delay.emission_ms;
      EXPECT_GE(wait_ms, 0);
      EXPECT_EQ(std::fmod(delay.emission_ms, model_->encoder_frame_ms()), 0);
      if (GetParam().chunk_size == -1) {
        EXPECT_EQ(delay.emission_ms, 0);
        EXPECT_LE(delay.text_ms, static_cast<double>(samples.size()) / 16);
      } else {
        EXPECT_LE(wait_ms,
                  static_cast<double>(GetParam().chunk_size - 1) * model_->encoder_frame_ms() +
                      frame_needs_ms);
      }
    }
  }
}

// A stream has a token with the samples of its available_ms, but not with one sample less.
TEST_P(DigitDelaysTest, AvailableMsIsTheLeastAudio) {
  for (const std::string& name : names_) {
    SCOPED_TRACE(name);
    const std::vector<float> samples = Samples(name);
    const StreamedTokens streamed = StreamTokens(model_, Options(), samples);
    Stream whole(model_, Options());
    whole.AcceptSamples(samples.data(), samples.size());
    whole.Finish();
    whole.Decode();
    const std::vector<Token> expected = whole.TokensSince(0);
    ASSERT_EQ(streamed.tokens.size(), expected.size());
    ASSERT_EQ(streamed.available_ms.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(streamed.tokens[i].id, expected[i].id);
      EXPECT_EQ(streamed.tokens[i].start_ms, expected[i].start_ms);
      const auto least = static_cast<size_t>(std::lround(streamed.available_ms[i] * 16));
      ASSERT_LE(least, samples.size());
      Stream stream(model_, Options());
      stream.AcceptSamples(samples.data(), least - 1);
      stream.Decode();
      EXPECT_LE(stream.TokensSince(0).size(), i);
      stream.AcceptSamples(samples.data() + least - 1, 1);
      if (least == samples.size()) stream.Finish();
      stream.Decode();
      EXPECT_GT(stream.TokensSince(0).size(), i);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, DigitDelaysTest,
                         ::testing::Values(StreamingSetting{1, 64}, StreamingSetting{4, 64},
                                           StreamingSetting{16, 64}, StreamingSetting{7, 0},
                                           StreamingSetting{-1, -1}),
                         [](const auto& setting) {
                           std::string name = setting.param.Name();
                           name.erase(std::remove_if(name.begin(), name.end(),
                                                     [](char c) { return !std::isalnum(c); }),
                                      name.end());
                           return name;
                         });

class DelayMeasurementTest : public ::testing::Test {
 protected:
  RecordingDelays Measure(const std::vector<float>& samples, const std::string& text) const {
    return DelayMeasurement(model_, StreamOptions()).Measure(samples, text);
  }

  const std::shared_ptr<const Model> model_ = Model::Load(kDigitsFolder + "digits.pt");
  const std::vector<float> samples_ =
      ReadSamples(kDigitsFolder + "samples/ked_year.flac", 16000, {});  // "two zero two six"
};

TEST_F(DelayMeasurementTest, OnlyTheTokensOfTheReferenceCount) {
  const RecordingDelays all = Measure(samples_, "two zero two six");
  EXPECT_EQ(all.tokens.size(), all.num_reference_tokens);
  ASSERT_TRUE(all.first && all.last);
  EXPECT_EQ(all.first->text_ms, all.tokens.front().text_ms);
  EXPECT_EQ(all.last->text_ms, all.tokens.back().text_ms);

  const RecordingDelays longer = Measure(samples_, "two zero two six four");
  EXPECT_EQ(longer.num_reference_tokens, all.num_reference_tokens + 5);
  EXPECT_EQ(longer.tokens.size(), all.tokens.size());
  EXPECT_TRUE(longer.first.has_value());
  EXPECT_FALSE(longer.last.has_value());

  const RecordingDelays none = Measure(samples_, "");
  EXPECT_EQ(none.num_reference_tokens, 0U);
  EXPECT_TRUE(none.tokens.empty());
  EXPECT_FALSE(none.first || none.last);
}

TEST_F(DelayMeasurementTest, TooFewFramesForTheReference) {
  const std::vector<float> half_second(samples_.begin(), samples_.begin() + 8000);
  EXPECT_EQ(
      ErrorMessage<std::runtime_error>([&] { Measure(half_second, "two zero two six three"); }),
      "the reference of 23 tokens cannot be aligned with 11 encoder frames; expected at least 24");
  for (const size_t num_samples : {0, 100, 1000}) {  // no encoder frame
    const std::vector<float> short_audio(num_samples);
    EXPECT_TRUE(Contains(ErrorMessage<std::runtime_error>([&] { Measure(short_audio, "two"); }),
                         "cannot be aligned with 0 encoder frames"));
    EXPECT_TRUE(Measure(short_audio, "").tokens.empty());
  }
}

TEST_F(DelayMeasurementTest, GreedySearchOnly) {
  StreamOptions options;
  options.search.method = SearchMethod::kPrefixBeam;
  for (const auto& action : {std::function<void()>([&] { DelayMeasurement(model_, options); }),
                             std::function<void()>([&] { StreamTokens(model_, options, {}); })}) {
    EXPECT_EQ(ErrorMessage<std::invalid_argument>(action),
              "delays of tokens are measured with greedy search only");
  }
}

TEST(DelayTableTest, QuantilesAreValues) {
  EXPECT_EQ(Quantile({3}, 0.5), 3);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 0.5), 2);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 0.75), 3);
  EXPECT_EQ(Quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_EQ(Quantile({-40, 0, 40}, 0.01), -40);
  std::vector<double> ramp;
  for (int i = 1; i <= 100; ++i) ramp.push_back(i);
  std::shuffle(ramp.begin(), ramp.end(), std::mt19937_64(1));
  EXPECT_EQ(Quantile(ramp, 0.9), 90);
  EXPECT_EQ(Quantile(ramp, 0.95), 95);
}

TEST(DelayTableTest, RowsOfAllFirstAndLastTokens) {
  DelayTable table;
  table.Add({3, 0, {{-40, 85}, {0, 205}}, TokenDelay{-40, 85}, std::nullopt});
  table.Add({1, 2, {{80, 165}}, TokenDelay{80, 165}, TokenDelay{80, 165}});
  EXPECT_EQ(table.Matches(), "3 of 4 reference tokens matched");
  EXPECT_EQ(table.Retractions(), ", 2 tokens shown and replaced later");
  EXPECT_EQ(
      table.Text(),
      R"(                                                     count    median       p90       p95   largest
  emission delay in ms, all tokens                       3         0        80        80        80
  emission delay in ms, first of an utterance            2       -40        80        80        80
  emission delay in ms, last of an utterance             1        80        80        80        80
  text delay in ms, all tokens                           3       165       205       205       205
  text delay in ms, first of an utterance                2        85       165       165       165
  text delay in ms, last of an utterance                 1       165       165       165       165
)");
  EXPECT_TRUE(Contains(DelayTable().Text(), "   0         -         -         -         -\n"));
}

}  // namespace
}  // namespace runnel
