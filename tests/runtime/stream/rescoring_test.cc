// The second pass of a stream: the formula of RescoringOptions, over the frames of each utterance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/attention_decoder/attention_decoder.h"
#include "runtime/model.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream.h"
#include "tests/support/random_audio.h"
#include "tests/support/random_heads.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::DescribeSearch;
using testing::Heads;
using testing::ModelWith;
using testing::UtterancesOf;

constexpr int64_t kUtteranceFrames = 15;  // what the length rule below allows

// The utterances of the first pass, ranked by the formula. Utterance i begins i * kUtteranceFrames
// frames after the start of the stream.
std::vector<Utterance> RescoredByFormula(const Model& model, const std::vector<float>& samples,
                                         StreamOptions options) {
  const RescoringOptions rescoring = options.search.rescoring;
  const auto nbest = static_cast<size_t>(options.nbest);
  options.search.rescoring = RescoringOptions();
  options.nbest = options.search.beam_size;
  const Matrix rows = testing::EncoderFramesAtOnce(model, samples, options);
  const auto shared = ModelWith(Heads::kDecoder);
  std::vector<Utterance> utterances = UtterancesOf(samples, options, shared);
  for (Utterance& utterance : utterances) {
    const auto end = static_cast<int64_t>(utterance.searched_ms / model.encoder_frame_ms() + 0.5);
    const int64_t begin = (end - 1) / kUtteranceFrames * kUtteranceFrames;
    RescoringQuery query;
    query.encoder = rows.rows().Part(begin, end - begin);
    query.reverse_weight = rescoring.reverse_weight;
    for (const Hypothesis& hypothesis : utterance.nbest) {
      std::vector<int32_t> ids;
      for (const Token& token : hypothesis.tokens) ids.push_back(token.id);
      query.hypotheses.push_back(ids);
    }
    const std::vector<RescoringScores> scores =
        model.parts().attention_decoder->Score({query}).front();
    for (size_t i = 0; i < scores.size(); ++i) {
      double& score = utterance.nbest[i].score;
      score = (1 - rescoring.reverse_weight) * scores[i].left +
              rescoring.reverse_weight * scores[i].right + rescoring.first_pass_weight * score;
    }
    std::stable_sort(utterance.nbest.begin(), utterance.nbest.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    utterance.nbest.resize(std::min(utterance.nbest.size(), nbest));
  }
  return utterances;
}

TEST(RescoringTest, HypothesesAreRankedByTheFormulaOverTheFramesOfTheirUtterance) {
  const std::shared_ptr<const Model> model = ModelWith(Heads::kDecoder);
  std::mt19937_64 random(51);
  size_t num_changed = 0;  // utterances whose best hypothesis is another one
  for (StreamOptions options : testing::AllOptions(*model)) {
    if (!options.search.rescoring.enabled) continue;
    options.endpoints.rules = {{{false, 1000, 0}, {true, 1000, 0}, {false, 0, 0.6}}};
    options.endpoints.reset_encoder = false;
    options.search.beam_size = 6;
    for (const double reverse_weight : {0.0, 0.4, 1.0}) {
      for (const int nbest : {1, 3}) {
        options.search.rescoring.reverse_weight = reverse_weight;
        options.search.rescoring.first_pass_weight = reverse_weight;
        options.nbest = nbest;
        SCOPED_TRACE(DescribeSearch(options) + ", reverse weight " +
                     std::to_string(reverse_weight) + ", best " + std::to_string(nbest));
        // One utterance without endpoints would be longer than the formula above takes it.
        const size_t num_samples = options.endpoints.enabled ? 40000 : 9000;
        const std::vector<float> samples =
            testing::NoiseOfChangingLevel(num_samples + random() % 1000, random());
        const std::vector<Utterance> expected = RescoredByFormula(*model, samples, options);
        const std::vector<Utterance> actual = UtterancesOf(samples, options, model);
        ASSERT_EQ(actual.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(actual[i].searched_ms, expected[i].searched_ms);
          testing::ExpectSame(actual[i].nbest, expected[i].nbest);
        }
        StreamOptions first_pass = options;
        first_pass.search.rescoring = RescoringOptions();
        const std::vector<Utterance> before = UtterancesOf(samples, first_pass, model);
        for (size_t i = 0; i < std::min(before.size(), actual.size()); ++i) {
          num_changed += before[i].nbest[0].text != actual[i].nbest[0].text ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GE(num_changed, 3U);
}

}  // namespace
}  // namespace runnel
