// Attention decoders against WeNet's recorded values (tests/golden/README.md).
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "attention_decoder/attention_decoder.h"
#include "attention_decoder/attention_decoder_weights.h"
#include "attention_decoder/prefix_rows.h"
#include "attention_decoder/transformer_decoder.h"
#include "encoder/json/json_section.h"
#include "encoder/libtorch/tensor_rows.h"
#include "encoder/model_file/weights.h"
#include "tests/support/archive_files.h"
#include "tests/support/arithmetic.h"
#include "tests/support/random_encoder.h"

namespace runnel {
namespace {

using testing::Arithmetic;

// WeNet computes in float32 too: sums over some hundred values, and over an utterance.
constexpr double kLogProbTolerance = 1e-4;
constexpr double kScoreTolerance = 1e-3;

constexpr int64_t kModelDim = 48;

class AttentionDecoderGoldenTest
    : public ::testing::TestWithParam<std::tuple<std::string, std::string, Arithmetic>> {
 protected:
  AttentionDecoderGoldenTest()
      : name_(std::get<0>(GetParam())),
        arithmetic_(std::get<2>(GetParam())),
        tensors_(testing::Goldens("rescoring/" + name_ + ".pt")),
        config_(ReadConfig(RUNNEL_SOURCE_DIR "/tests/golden/rescoring/" + name_ + ".json")),
        backend_(MakeBackend()) {}

  static AttentionDecoderConfig ReadConfig(const std::string& path) {
    std::ifstream file(path);
    const nlohmann::json json = nlohmann::json::parse(file);
    return ParseAttentionDecoderConfig(JsonSection(json, "attention_decoder", path), kModelDim);
  }

  // The decoder's tensors, each to be taken once.
  Weights MakeWeights() const {
    std::map<std::string, at::Tensor> tensors;
    for (const auto& [name, tensor] : tensors_) {
      if (name.rfind("attention_decoder.", 0) == 0) tensors[name] = tensor;
    }
    return {tensors, arithmetic_.dtype, name_};
  }

  std::unique_ptr<const EncoderBackend> MakeBackend() const {
    EncoderConfig config = testing::SmallConfig(R"({"scheme": "none"})");
    config.model_dim = kModelDim;
    Weights weights = MakeWeights();
    return arithmetic_.MakeBackend(config, &weights);
  }

  // A value of the utterance under the parameter's mask.
  at::Tensor Expected(const std::string& name) const {
    return tensors_.at("expected." + std::get<1>(GetParam()) + "_" + name);
  }
  bool IsExpected(const std::string& name) const {
    return tensors_.count("expected." + std::get<1>(GetParam()) + "_" + name) > 0;
  }

  at::Tensor Encoder() const { return Expected("encoder_out").to(arithmetic_.dtype).contiguous(); }

  std::vector<std::vector<int32_t>> Hypotheses() const {
    const at::Tensor tokens = Expected("nbest_tokens");
    const at::Tensor lengths = Expected("nbest_lengths");
    std::vector<std::vector<int32_t>> hypotheses;
    for (int64_t i = 0; i < tokens.size(0); ++i) {
      hypotheses.emplace_back();
      for (int64_t j = 0; j < lengths[i].item<int64_t>(); ++j) {
        hypotheses.back().push_back(static_cast<int32_t>(tokens[i][j].item<int64_t>()));
      }
    }
    return hypotheses;
  }

  // Every row of every hypothesis against the recorded log probabilities.
  void ExpectLogProbs(const std::string& direction, int num_layers, bool reverse,
                      const std::string& golden) const {
    Weights weights = MakeWeights();
    const TransformerDecoder decoder(
        config_, BindTransformerDecoder(config_, direction, num_layers, kModelDim, &weights),
        kModelDim, *backend_);
    const at::Tensor encoder = Encoder();
    DecoderBatch batch{{}, Matrix(libtorch::View(encoder)), {{0, encoder.size(0)}}};
    const int64_t first = batch.prefixes.AddUtterance(config_.sos_id);
    std::vector<int64_t> ends;
    for (std::vector<int32_t> tokens : Hypotheses()) {
      if (reverse) std::reverse(tokens.begin(), tokens.end());
      int64_t row = first;
      for (const int32_t token : tokens) row = batch.prefixes.Extend(row, token);
      ends.push_back(row);
    }
    const Matrix rows = decoder.Forward(batch);
    const Matrix log_probs = decoder.LogProbs(rows.rows());
    const at::Tensor actual = libtorch::View(log_probs.rows()).to(at::kDouble);
    const at::Tensor expected = Expected(golden).to(at::kDouble);
    for (size_t i = 0; i < ends.size(); ++i) {
      std::vector<int64_t> path;
      batch.prefixes.PathTo(ends[i], &path);
      for (size_t j = 0; j < path.size(); ++j) {
        const at::Tensor of_row = expected[static_cast<int64_t>(i)][static_cast<int64_t>(j)];
        EXPECT_LE((actual[path[j]] - of_row).abs().max().item<double>(), kLogProbTolerance)
            << "hypothesis " << i << ", row " << j;
      }
    }
  }

  std::string name_;
  Arithmetic arithmetic_;
  std::map<std::string, at::Tensor> tensors_;
  AttentionDecoderConfig config_;
  std::unique_ptr<const EncoderBackend> backend_;
};

INSTANTIATE_TEST_SUITE_P(All, AttentionDecoderGoldenTest,
                         ::testing::Combine(::testing::Values("rescore_transformer",
                                                              "rescore_bitransformer"),
                                            ::testing::Values("full", "chunked"),
                                            ::testing::ValuesIn(testing::FullPrecision())),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" + std::get<1>(test.param) + "_" +
                                  std::get<2>(test.param).name;
                         });

TEST_P(AttentionDecoderGoldenTest, LogProbabilities) {
  ExpectLogProbs("left", config_.left_layers, false, "decoder_log_probs");
  EXPECT_EQ(IsExpected("r_decoder_log_probs"), config_.right_layers > 0);
  if (config_.right_layers == 0) return;
  ExpectLogProbs("right", config_.right_layers, true, "r_decoder_log_probs");
}

TEST_P(AttentionDecoderGoldenTest, ScoresAndBestHypothesis) {
  Weights weights = MakeWeights();
  const AttentionDecoder decoder(config_, kModelDim, *backend_, &weights);
  weights.CheckAllTaken();
  const at::Tensor encoder = Encoder();
  const auto scores = decoder.Score({{libtorch::View(encoder), Hypotheses(), 1.0}}).front();
  const at::Tensor settings = tensors_.at("expected.settings");
  const at::Tensor left = Expected("l_scores");
  ASSERT_EQ(static_cast<int64_t>(scores.size()), left.size(0));
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    EXPECT_NEAR(scores[i].left, left[row].item<double>(), kScoreTolerance);
    const double right = config_.right_layers > 0 ? Expected("r_scores")[row].item<double>() : 0.0;
    EXPECT_NEAR(scores[i].right, right, kScoreTolerance);
  }
  for (int64_t setting = 0; setting < settings.size(0); ++setting) {
    const double ctc_weight = settings[setting][0].item<double>();
    const double reverse_weight = settings[setting][1].item<double>();
    std::vector<double> combined;
    for (size_t i = 0; i < scores.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      combined.push_back((1 - reverse_weight) * scores[i].left + reverse_weight * scores[i].right +
                         ctc_weight * Expected("nbest_ctc_scores")[row].item<double>());
      EXPECT_NEAR(combined.back(), Expected("combined_scores")[setting][row].item<double>(),
                  kScoreTolerance);
    }
    EXPECT_EQ(std::distance(combined.begin(), std::max_element(combined.begin(), combined.end())),
              Expected("best_index")[setting].item<int64_t>());
  }
}

}  // namespace
}  // namespace runnel
