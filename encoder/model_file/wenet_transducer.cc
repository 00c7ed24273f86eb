#include "encoder/model_file/wenet_transducer.h"

#include <cstddef>
#include <utility>

#include "encoder/model_file/affixes.h"
#include "encoder/model_file/tensor.h"

namespace runnel::wenet {
namespace {

using nlohmann::json;

constexpr char kLstm[] = "transducer.predictor.lstm.";

// The beginning of a name in the export and in Runnel's format; the rest is the same.
struct Renaming {
  const char* from;
  const char* to;
};
constexpr Renaming kRenamings[] = {
    {"predictor.embed.", "transducer.predictor.embedding."},
    {"predictor.projection.", "transducer.predictor.out."},
    {"predictor.pos_embed.", "transducer.predictor.position."},
    {"predictor.", "transducer.predictor."},
    {"joint.enc_ffn.", "transducer.joint.encoder."},
    {"joint.pred_ffn.", "transducer.joint.predictor."},
    {"joint.post_ffn.", "transducer.joint.hidden."},
    {"joint.ffn_out.", "transducer.joint.out."},
    {"joint.", "transducer.joint."},
};

// "weight_ih_l0" of PyTorch's LSTM is "0.weight_ih" here. Biases keep their two names until they
// are added.
std::string LstmName(const std::string& name) {
  const size_t layer = name.rfind("_l");
  if (layer == std::string::npos) return kLstm + name;
  return kLstm + name.substr(layer + 2) + "." + name.substr(0, layer);
}

std::string TransducerActivation(const Module& parent) {
  const Module activation = Child(parent, "activatoin");  // WeNet's spelling
  return ClassName(activation) == "Tanh" ? "tanh" : ActivationName(activation);
}

// WeNet's two biases of a gate are added.
void AddLstmBiases(int64_t num_layers, Tensors* tensors) {
  for (int64_t i = 0; i < num_layers; ++i) {
    const std::string layer = kLstm + std::to_string(i) + ".";
    const int64_t gates = Size(*tensors, layer + "weight_ih", 2, 0);
    for (const char* name : {"bias_ih", "bias_hh"}) {
      tensors->try_emplace(layer + name, Zeros(DataType::kFloat32, {gates}));
      if (Size(*tensors, layer + name, 1, 0) != gates) {
        Refuse("whose " + layer + name + " does not fit its weights");
      }
    }
    (*tensors)[layer + "bias"] =
        Sum(tensors->at(layer + "bias_ih"), tensors->at(layer + "bias_hh"));
    tensors->erase(layer + "bias_ih");
    tensors->erase(layer + "bias_hh");
  }
}

json ReadLstm(const Module& predictor, Tensors* tensors) {
  const std::string kind = ClassName(Child(predictor, "rnn"));
  if (kind != "LSTM") Refuse("with a predictor of class " + kind + ", expected LSTM");
  int64_t num_layers = 0;
  while (tensors->count(kLstm + std::to_string(num_layers) + ".weight_ih") > 0) ++num_layers;
  if (num_layers == 0) Refuse("whose LSTM has no weights");
  AddLstmBiases(num_layers, tensors);
  return {{"type", "lstm"},
          {"embedding_dim", Size(*tensors, "transducer.predictor.embedding.weight", 2, 1)},
          {"hidden_dim", Size(*tensors, kLstm + std::string("0.weight_hh"), 2, 1)},
          {"num_layers", num_layers},
          {"output_dim", Size(*tensors, "transducer.predictor.out.weight", 2, 0)}};
}

// What the two predictors of the last tokens share.
json ReadHistory(const char* type, int64_t context_size, const Module& predictor,
                 const Tensors& tensors) {
  return {{"type", type},
          {"embedding_dim", Size(tensors, "transducer.predictor.embedding.weight", 2, 1)},
          {"context_size", context_size},
          {"norm_epsilon", Epsilon(Child(predictor, "norm"))},
          {"activation", TransducerActivation(predictor)}};
}

json ReadConv(const Module& predictor, const Tensors& tensors) {
  const std::string weight = "transducer.predictor.conv.weight";
  json section = ReadHistory("conv", Size(tensors, weight, 3, 2), predictor, tensors);
  section["groups"] = section["embedding_dim"];
  section["bias"] = tensors.count("transducer.predictor.conv.bias") > 0;
  return section;
}

// WeNet stores the vectors (heads, E, K) as the weight of a linear layer, (heads, E K).
json ReadEmbedding(const Module& predictor, Tensors* tensors) {
  const std::string name = "transducer.predictor.position.weight";
  const int64_t embedding_dim = Size(*tensors, "transducer.predictor.embedding.weight", 2, 1);
  const int64_t num_heads = Size(*tensors, name, 2, 0);
  const int64_t inputs = Size(*tensors, name, 2, 1);
  if (embedding_dim < 1 || inputs % embedding_dim != 0) {
    Refuse("whose " + name + " does not fit its embeddings");
  }
  const int64_t context_size = inputs / embedding_dim;
  Tensor& positions = tensors->at(name);
  positions = positions.Reshaped({num_heads, embedding_dim, context_size});
  json section = ReadHistory("embedding", context_size, predictor, *tensors);
  section["num_heads"] = num_heads;
  return section;
}

json ReadPredictor(const Module& predictor, Tensors* tensors) {
  const std::string kind = ClassName(predictor);
  if (kind == "RNNPredictor") return ReadLstm(predictor, tensors);
  if (kind == "ConvPredictor") return ReadConv(predictor, *tensors);
  if (kind == "EmbeddingPredictor") return ReadEmbedding(predictor, tensors);
  Refuse("with " + kind + ", expected RNNPredictor, ConvPredictor or EmbeddingPredictor");
}

json ReadJoint(const Module& joint, const Tensors& tensors) {
  if (ClassName(joint) != "TransducerJoint") {
    Refuse("with " + ClassName(joint) + ", expected TransducerJoint");
  }
  if (joint.Get<bool>("hat_joint").value_or(false)) Refuse("with hat_joint, not supported");
  return {{"dim", Size(tensors, "transducer.joint.out.weight", 2, 1)},
          {"input_linear", tensors.count("transducer.joint.encoder.weight") > 0},
          {"hidden_linear", tensors.count("transducer.joint.hidden.weight") > 0},
          {"activation", TransducerActivation(joint)}};
}

}  // namespace

bool IsOfTransducer(const std::string& name) {
  for (const char* part : {"predictor.", "joint.", "simple_am_proj.", "simple_lm_proj."}) {
    if (StartsWith(name, part)) return true;
  }
  return false;
}

std::string TransducerName(const std::string& name) {
  if (StartsWith(name, "simple_")) return "";         // of the training with k2
  if (name == "predictor.pos_embed.bias") return "";  // WeNet computes with the weight only
  const std::string lstm = "predictor.rnn.";
  if (StartsWith(name, lstm)) return LstmName(name.substr(lstm.size()));
  for (const Renaming& renaming : kRenamings) {
    if (StartsWith(name, renaming.from)) {
      return renaming.to + name.substr(std::string(renaming.from).size());
    }
  }
  return name;
}

json ReadTransducer(const Module& model, int64_t blank_id, Tensors* tensors) {
  const json predictor = ReadPredictor(Child(model, "predictor"), tensors);
  return {{"vocab_size", Size(*tensors, "transducer.joint.out.weight", 2, 0)},
          {"blank_id", blank_id},
          {"predictor", predictor},
          {"joint", ReadJoint(Child(model, "joint"), *tensors)},
          {"durations", json::array()},
          {"max_symbols", 64},  // the default of WeNet's greedy search, n_steps
          {"beam", "prefix"}};
}

}  // namespace runnel::wenet
