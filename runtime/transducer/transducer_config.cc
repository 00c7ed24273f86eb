#include "runtime/transducer/transducer_config.h"

#include <optional>
#include <set>
#include <string>

#include "encoder/json/json_section.h"

namespace runnel {
namespace {

constexpr int64_t kMaxSize = 1 << 20;
constexpr int64_t kMaxContext = 64;     // tokens
constexpr int64_t kMaxSymbols = 1000;   // per encoder frame
constexpr int64_t kMaxDuration = 1000;  // encoder frames

double ParseEpsilon(JsonSection* section) {
  const double epsilon = section->Number("norm_epsilon");
  if (!(epsilon > 0 && epsilon < 1)) section->Fail("norm_epsilon", "a number between 0 and 1");
  return epsilon;
}

Activation ParseTransducerActivation(JsonSection* section,
                                     const std::string& field = "activation") {
  return section->Choice<Activation>(field, {{"swish", Activation::kSwish},
                                             {"relu", Activation::kRelu},
                                             {"gelu", Activation::kGelu},
                                             {"tanh", Activation::kTanh},
                                             {"sigmoid", Activation::kSigmoid},
                                             {"identity", Activation::kIdentity}});
}

LstmPredictorConfig ParseLstm(JsonSection* section) {
  LstmPredictorConfig config;
  config.embedding_dim = section->Integer("embedding_dim", 1, kMaxSize);
  config.hidden_dim = section->Integer("hidden_dim", 1, kMaxSize);
  config.num_layers = section->Integer("num_layers", 1, kMaxContext);
  config.output_dim = section->OptionalInteger("output_dim", 1, kMaxSize);
  return config;
}

ConvPredictorConfig ParseConv(JsonSection* section) {
  ConvPredictorConfig config;
  config.embedding_dim = section->Integer("embedding_dim", 1, kMaxSize);
  config.context_size = section->Integer("context_size", 1, kMaxContext);
  config.groups = section->Integer("groups", 1, config.embedding_dim);
  if (config.embedding_dim % config.groups != 0) {
    section->Fail("groups", "a divisor of embedding_dim");
  }
  config.bias = section->Bool("bias");
  if (!section->IsNull("norm_epsilon")) config.norm_epsilon = ParseEpsilon(section);
  config.activation = ParseTransducerActivation(section);
  return config;
}

EmbeddingPredictorConfig ParseEmbedding(JsonSection* section) {
  EmbeddingPredictorConfig config;
  config.embedding_dim = section->Integer("embedding_dim", 1, kMaxSize);
  config.context_size = section->Integer("context_size", 1, kMaxContext);
  config.num_heads = section->Integer("num_heads", 1, kMaxSize);
  config.norm_epsilon = ParseEpsilon(section);
  config.activation = ParseTransducerActivation(section);
  return config;
}

PredictorConfig ParsePredictor(JsonSection section) {
  enum class Type { kLstm, kConv, kEmbedding };
  PredictorConfig config;
  switch (section.Choice<Type>(
      "type", {{"lstm", Type::kLstm}, {"conv", Type::kConv}, {"embedding", Type::kEmbedding}})) {
    case Type::kLstm:
      config = ParseLstm(&section);
      break;
    case Type::kConv:
      config = ParseConv(&section);
      break;
    case Type::kEmbedding:
      config = ParseEmbedding(&section);
      break;
  }
  section.CheckAllTaken();
  return config;
}

// false, true, or an object.
std::optional<JointHiddenConfig> ParseJointHidden(JsonSection* joint, int64_t dim) {
  if (!joint->Has("hidden_linear") || !joint->IsObject("hidden_linear")) {
    if (!joint->Bool("hidden_linear")) return std::nullopt;
    return JointHiddenConfig{dim, Activation::kIdentity};
  }
  JsonSection section = joint->Section("hidden_linear");
  JointHiddenConfig config;
  config.dim = section.Integer("dim", 1, kMaxSize);
  config.input_activation = ParseTransducerActivation(&section, "input_activation");
  section.CheckAllTaken();
  return config;
}

JointConfig ParseJoint(JsonSection section) {
  JointConfig config;
  config.dim = section.Integer("dim", 1, kMaxSize);
  config.input_linear = section.Bool("input_linear");
  config.hidden = ParseJointHidden(&section, config.dim);
  config.activation = ParseTransducerActivation(&section);
  section.CheckAllTaken();
  return config;
}

}  // namespace

int64_t OutputDim(const PredictorConfig& predictor) {
  if (const auto* lstm = std::get_if<LstmPredictorConfig>(&predictor)) {
    return lstm->output_dim.value_or(lstm->hidden_dim);
  }
  if (const auto* conv = std::get_if<ConvPredictorConfig>(&predictor)) return conv->embedding_dim;
  return std::get<EmbeddingPredictorConfig>(predictor).embedding_dim;
}

TransducerConfig ParseTransducerConfig(JsonSection section) {
  TransducerConfig config;
  config.vocab_size = static_cast<int>(section.Integer("vocab_size", 2, 1 << 24));
  config.blank_id = static_cast<int>(section.Integer("blank_id", 0, config.vocab_size - 1));
  config.predictor = ParsePredictor(section.Section("predictor"));
  config.joint = ParseJoint(section.Section("joint"));
  config.durations = section.Integers("durations", 0, kMaxDuration);
  const std::set<int64_t> distinct(config.durations.begin(), config.durations.end());
  if (distinct.size() != config.durations.size()) section.Fail("durations", "each duration once");
  config.max_symbols = static_cast<int>(section.Integer("max_symbols", 1, kMaxSymbols));
  config.beam = section.Choice<TransducerBeam>(
      "beam", {{"time_synchronous", TransducerBeam::kTimeSynchronous},
               {"modified", TransducerBeam::kModified},
               {"prefix", TransducerBeam::kPrefix}});
  if (!config.durations.empty() && config.beam != TransducerBeam::kTimeSynchronous) {
    section.Fail("beam", "time_synchronous with durations");
  }
  section.CheckAllTaken();
  return config;
}

}  // namespace runnel
