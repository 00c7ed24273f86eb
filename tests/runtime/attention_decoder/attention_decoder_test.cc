// Scores equal the formula, whatever the batch, the hypotheses beside them, and the thread.
#include "runtime/attention_decoder/attention_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "encoder/model_file/tensor.h"
#include "encoder/rows.h"
#include "tests/support/arithmetic.h"
#include "tests/support/error_message.h"
#include "tests/support/matrices.h"
#include "tests/support/random_encoder.h"
#include "tests/support/random_values.h"

namespace runnel {
namespace {

using testing::Arithmetic;
using testing::ErrorMessage;

constexpr uint64_t kSeed = 5;

// No size is a multiple of a vector register; sos and eos differ, so that they cannot be confused.
AttentionDecoderConfig SmallDecoder() {
  AttentionDecoderConfig config;
  config.vocab_size = 11;
  config.num_heads = 3;
  config.feed_forward_dim = 29;
  config.left_layers = 2;
  config.right_layers = 1;
  config.layer_norm_eps = 1e-5;
  config.sos_id = 10;
  config.eos_id = 9;
  return config;
}

EncoderConfig SmallEncoder() { return testing::SmallConfig(R"({"scheme": "none"})"); }

int64_t ModelDim() { return SmallEncoder().model_dim; }

AttentionDecoder MakeDecoder(const AttentionDecoderConfig& config, const Arithmetic& arithmetic) {
  testing::RandomWeightSource weights(arithmetic.type, kSeed);
  const auto backend = arithmetic.MakeBackend(SmallEncoder(), &weights);
  return {config, ModelDim(), *backend, &weights};
}

// Queries that own their encoder rows.
struct Utterance {
  ConstRows encoder_rows() const {
    return {DataType::kFloat32, encoder.data(), static_cast<int64_t>(encoder.size()) / ModelDim(),
            ModelDim()};
  }

  std::vector<float> encoder;  // (frames, model_dim)
  std::vector<std::vector<int32_t>> hypotheses;
  double reverse_weight;
};

// Some hundred rows together, hypotheses of 0 to 12 tokens that often begin and end alike.
std::vector<Utterance> RandomUtterances(int count) {
  std::mt19937_64 random(kSeed);
  std::vector<Utterance> utterances;
  for (int u = 0; u < count; ++u) {
    Utterance utterance;
    const auto frames = static_cast<int64_t>(1 + random() % 40);
    utterance.encoder = testing::RandomValues(frames * ModelDim(), random());
    for (int h = 0; h < 1 + u % 6; ++h) {
      std::vector<int32_t> tokens(random() % 13);
      for (int32_t& token : tokens) token = static_cast<int32_t>(random() % 2 + 1);
      utterance.hypotheses.push_back(tokens);
    }
    utterance.reverse_weight = u % 3 == 2 ? 0 : 0.3;
    utterances.push_back(utterance);
  }
  return utterances;
}

std::vector<std::vector<RescoringScores>> Score(const AttentionDecoder& decoder,
                                                const Arithmetic& arithmetic,
                                                const std::vector<Utterance>& utterances) {
  std::vector<Matrix> encoders;
  std::vector<RescoringQuery> queries;
  for (const Utterance& utterance : utterances) {
    encoders.push_back(testing::Converted(utterance.encoder_rows(), arithmetic.type));
    queries.push_back({encoders.back().rows(), utterance.hypotheses, utterance.reverse_weight});
  }
  return decoder.Score(queries);
}

// ---- The formula in float64, hypothesis by hypothesis ----

// One per position.
using Vectors = std::vector<std::vector<double>>;

class Formula {
 public:
  explicit Formula(const AttentionDecoderConfig& config) : config_(config) {
    testing::RandomWeightSource source(DataType::kFloat32, kSeed);
    const AttentionDecoder taken(config, ModelDim(),
                                 *testing::CpuArithmetic().MakeBackend(SmallEncoder(), &source),
                                 &source);
    for (const auto& [name, tensor] : source.taken()) values_[name] = Float64Values(tensor);
  }

  double Score(const std::string& direction, int num_layers, const Utterance& utterance,
               const std::vector<int32_t>& tokens) const {
    std::vector<int64_t> inputs = {config_.sos_id};
    inputs.insert(inputs.end(), tokens.begin(), tokens.end());
    Vectors encoder;
    const auto dim = static_cast<std::ptrdiff_t>(ModelDim());
    for (auto at = utterance.encoder.begin(); at != utterance.encoder.end(); at += dim) {
      encoder.emplace_back(at, at + dim);
    }
    const Vectors log_probs = LogProbs(direction, num_layers, encoder, inputs);
    double sum = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int64_t next = i < tokens.size() ? tokens[i] : config_.eos_id;
      sum += log_probs[i][static_cast<size_t>(next)];
    }
    return sum;
  }

 private:
  Vectors Linear(const std::string& name, const Vectors& x) const {
    const std::vector<double>& weight = values_.at(name + ".weight");
    const std::vector<double>& bias = values_.at(name + ".bias");
    Vectors y;
    for (const std::vector<double>& from : x) {
      y.push_back(bias);
      for (size_t i = 0; i < bias.size(); ++i) {
        for (size_t j = 0; j < from.size(); ++j) {
          y.back()[i] += weight[i * from.size() + j] * from[j];
        }
      }
    }
    return y;
  }

  Vectors Norm(const std::string& name, Vectors x) const {
    const std::vector<double>& weight = values_.at(name + ".weight");
    const std::vector<double>& bias = values_.at(name + ".bias");
    for (std::vector<double>& row : x) {
      const auto size = static_cast<double>(row.size());
      double mean = 0;
      for (const double value : row) mean += value / size;
      double variance = 0;
      for (const double value : row) variance += (value - mean) * (value - mean) / size;
      const double deviation = std::sqrt(variance + config_.layer_norm_eps);
      for (size_t i = 0; i < row.size(); ++i) {
        row[i] = (row[i] - mean) / deviation * weight[i] + bias[i];
      }
    }
    return x;
  }

  Vectors Attention(const std::string& name, const Vectors& x, const Vectors& memory,
                    bool causal) const {
    const Vectors queries = Linear(name + ".linear_q", x);
    const Vectors keys = Linear(name + ".linear_k", memory);
    const Vectors values = Linear(name + ".linear_v", memory);
    const size_t dim = queries[0].size();
    const size_t head_dim = dim / static_cast<size_t>(config_.num_heads);
    Vectors contexts(x.size(), std::vector<double>(dim));
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t num_keys = causal ? i + 1 : memory.size();
      for (size_t first = 0; first < dim; first += head_dim) {
        std::vector<double> scores(num_keys);
        for (size_t j = 0; j < num_keys; ++j) {
          for (size_t m = first; m < first + head_dim; ++m) {
            scores[j] += queries[i][m] * keys[j][m];
          }
          scores[j] /= std::sqrt(static_cast<double>(head_dim));
        }
        const double sum = LogSumExp(scores);
        for (size_t j = 0; j < num_keys; ++j) {
          for (size_t m = first; m < first + head_dim; ++m) {
            contexts[i][m] += std::exp(scores[j] - sum) * values[j][m];
          }
        }
      }
    }
    return Linear(name + ".linear_out", contexts);
  }

  Vectors FeedForward(const std::string& name, const Vectors& x) const {
    Vectors hidden = Linear(name + ".w_1", x);
    for (std::vector<double>& row : hidden) {
      for (double& value : row) {
        value = config_.activation == Activation::kGelu
                    ? value * (1 + std::erf(value / std::sqrt(2.0))) / 2
                    : std::max(value, 0.0);
      }
    }
    return Linear(name + ".w_2", hidden);
  }

  Vectors Embedded(const std::string& name, const std::vector<int64_t>& inputs) const {
    const std::vector<double>& table = values_.at(name + ".weight");
    const auto dim = static_cast<size_t>(ModelDim());
    Vectors x(inputs.size(), std::vector<double>(dim));
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (size_t m = 0; m < dim; ++m) {
        const double angle =
            static_cast<double>(i) *
            std::pow(10000.0, -static_cast<double>(m / 2 * 2) / static_cast<double>(dim));
        x[i][m] =
            table[static_cast<size_t>(inputs[i]) * dim + m] * std::sqrt(static_cast<double>(dim)) +
            (m % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
    return x;
  }

  Vectors LogProbs(const std::string& direction, int num_layers, const Vectors& encoder,
                   const std::vector<int64_t>& inputs) const {
    const std::string prefix = "attention_decoder." + direction;
    Vectors x = Embedded(prefix + ".embed", inputs);
    const auto add = [&](const std::string& norm, const auto& module) {
      x = config_.norm_first ? Sum(x, module(Norm(norm, x))) : Norm(norm, Sum(x, module(x)));
    };
    for (int i = 0; i < num_layers; ++i) {
      const std::string layer = prefix + ".layers." + std::to_string(i);
      add(layer + ".norm1",
          [&](const Vectors& y) { return Attention(layer + ".self_attn", y, y, true); });
      add(layer + ".norm2",
          [&](const Vectors& y) { return Attention(layer + ".src_attn", y, encoder, false); });
      add(layer + ".norm3",
          [&](const Vectors& y) { return FeedForward(layer + ".feed_forward", y); });
    }
    if (config_.norm_first) x = Norm(prefix + ".after_norm", x);
    Vectors log_probs = Linear(prefix + ".output", x);
    for (std::vector<double>& row : log_probs) {
      const double sum = LogSumExp(row);
      for (double& value : row) value -= sum;
    }
    return log_probs;
  }

  static Vectors Sum(Vectors x, const Vectors& y) {
    for (size_t i = 0; i < x.size(); ++i) {
      for (size_t m = 0; m < x[i].size(); ++m) x[i][m] += y[i][m];
    }
    return x;
  }

  static double LogSumExp(const std::vector<double>& values) {
    const double most = *std::max_element(values.begin(), values.end());
    double sum = 0;
    for (const double value : values) sum += std::exp(value - most);
    return most + std::log(sum);
  }

  AttentionDecoderConfig config_;
  std::map<std::string, std::vector<double>> values_;
};

std::vector<Arithmetic> AllArithmetics() {
  std::vector<Arithmetic> all = testing::FullPrecision();
  for (const Arithmetic& reduced : testing::ReducedPrecision()) all.push_back(reduced);
  return all;
}

class AttentionDecoderTest : public ::testing::TestWithParam<Arithmetic> {};
class AttentionDecoderBatchTest : public ::testing::TestWithParam<Arithmetic> {};

constexpr auto kName = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(FullPrecision, AttentionDecoderTest,
                         ::testing::ValuesIn(testing::FullPrecision()), kName);
INSTANTIATE_TEST_SUITE_P(All, AttentionDecoderBatchTest, ::testing::ValuesIn(AllArithmetics()),
                         kName);

TEST_P(AttentionDecoderTest, ScoresAreThoseOfTheFormula) {
  const double tolerance = GetParam().type == DataType::kFloat64 ? 1e-9 : 1e-4;
  for (const bool norm_first : {true, false}) {
    AttentionDecoderConfig config = SmallDecoder();
    config.norm_first = norm_first;
    config.activation = norm_first ? Activation::kRelu : Activation::kGelu;
    const Formula formula(config);
    const AttentionDecoder decoder = MakeDecoder(config, GetParam());
    const std::vector<Utterance> utterances = RandomUtterances(7);
    const auto scores = Score(decoder, GetParam(), utterances);
    ASSERT_EQ(scores.size(), utterances.size());
    for (size_t u = 0; u < scores.size(); ++u) {
      const Utterance& utterance = utterances[u];
      ASSERT_EQ(scores[u].size(), utterance.hypotheses.size());
      for (size_t h = 0; h < scores[u].size(); ++h) {
        std::vector<int32_t> tokens = utterance.hypotheses[h];
        EXPECT_NEAR(scores[u][h].left, formula.Score("left", 2, utterance, tokens), tolerance);
        std::reverse(tokens.begin(), tokens.end());
        const double right =
            utterance.reverse_weight == 0 ? 0.0 : formula.Score("right", 1, utterance, tokens);
        EXPECT_NEAR(scores[u][h].right, right, tolerance);
      }
    }
  }
}

TEST_P(AttentionDecoderBatchTest, NoHypothesisDependsOnTheOthers) {
  const AttentionDecoder decoder = MakeDecoder(SmallDecoder(), GetParam());
  const std::vector<Utterance> utterances = RandomUtterances(12);
  const auto together = Score(decoder, GetParam(), utterances);
  const double tolerance = GetParam().cpu ? 0.0 : testing::kBatchScoreTolerance;
  for (size_t u = 0; u < utterances.size(); ++u) {
    for (size_t h = 0; h < utterances[u].hypotheses.size(); ++h) {
      Utterance one = utterances[u];
      one.hypotheses = {utterances[u].hypotheses[h]};
      const RescoringScores alone = Score(decoder, GetParam(), {one}).front().front();
      EXPECT_LE(std::abs(together[u][h].left - alone.left), tolerance);
      EXPECT_LE(std::abs(together[u][h].right - alone.right), tolerance);
    }
  }
}

TEST_P(AttentionDecoderBatchTest, ThreadsShareADecoder) {
  const AttentionDecoder decoder = MakeDecoder(SmallDecoder(), GetParam());
  const std::vector<Utterance> utterances = RandomUtterances(6);
  const auto expected = Score(decoder, GetParam(), utterances);
  std::vector<std::vector<std::vector<RescoringScores>>> scores(3);
  std::vector<std::thread> threads;
  for (auto& result : scores) {
    threads.emplace_back([&] { result = Score(decoder, GetParam(), utterances); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : scores) {
    for (size_t u = 0; u < expected.size(); ++u) {
      for (size_t h = 0; h < expected[u].size(); ++h) {
        EXPECT_EQ(result[u][h].left, expected[u][h].left);
        EXPECT_EQ(result[u][h].right, expected[u][h].right);
      }
    }
  }
}

TEST_P(AttentionDecoderTest, OneDirectionHasNoRightScores) {
  AttentionDecoderConfig config = SmallDecoder();
  config.right_layers = 0;
  const std::vector<Utterance> utterances = RandomUtterances(2);
  const auto left_only = Score(MakeDecoder(config, GetParam()), GetParam(), utterances);
  const auto both = Score(MakeDecoder(SmallDecoder(), GetParam()), GetParam(), utterances);
  for (size_t u = 0; u < both.size(); ++u) {
    for (size_t h = 0; h < both[u].size(); ++h) {
      EXPECT_EQ(left_only[u][h].left, both[u][h].left);
      EXPECT_EQ(left_only[u][h].right, 0);
      EXPECT_LT(both[u][h].right, 0);
    }
  }
}

TEST_P(AttentionDecoderTest, NothingToScore) {
  const AttentionDecoder decoder = MakeDecoder(SmallDecoder(), GetParam());
  EXPECT_TRUE(decoder.Score({}).empty());
  std::vector<Utterance> utterances = RandomUtterances(3);
  const auto expected = Score(decoder, GetParam(), {utterances[2]});
  utterances[0].hypotheses.clear();
  const auto scores = Score(decoder, GetParam(), {utterances[0], utterances[2]});
  EXPECT_TRUE(scores[0].empty());
  ASSERT_EQ(scores[1].size(), expected[0].size());
  EXPECT_NEAR(scores[1][0].left, expected[0][0].left, testing::kBatchScoreTolerance);
}

TEST_P(AttentionDecoderTest, WrongQueriesAreRefused) {
  const AttentionDecoder decoder = MakeDecoder(SmallDecoder(), GetParam());
  const Matrix rows(GetParam().type, ModelDim(), 2);
  const auto error = [&](const RescoringQuery& query) {
    return ErrorMessage<std::invalid_argument>([&] { decoder.Score({query}); });
  };
  EXPECT_EQ(error({rows.rows().Part(0, 0), {{1}}, 0}),
            "rescoring was given 0 encoder rows of width 18, expected at least one of width 18");
  ConstRows narrow = rows.rows();
  narrow.dim = 9;
  EXPECT_EQ(error({narrow, {{1}}, 0}),
            "rescoring was given 2 encoder rows of width 9, expected at least one of width 18");
  ConstRows other = rows.rows();
  other.type = DataType::kBfloat16;
  EXPECT_EQ(error({other, {{1}}, 0}),
            "rescoring was given encoder rows of another data type than the model's");
  EXPECT_EQ(error({rows.rows(), {{1}, {1, 11}}, 0}),
            "a hypothesis holds token 11, expected 0 to 10");
  EXPECT_EQ(error({rows.rows(), {{-1}}, 0}), "a hypothesis holds token -1, expected 0 to 10");
}

}  // namespace
}  // namespace runnel
