#include "encoder/model_file/wenet_encoder.h"

#include <cmath>
#include <cstdint>

#include "encoder/model_file/affixes.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/wenet_branchformer.h"

namespace runnel::wenet {
namespace {

using nlohmann::json;

constexpr int kUsualBins = 80;
constexpr char kLayers[] = "encoder.encoders.";

json ReadConvolution(const Module& module) {
  const Module depthwise = Child(module, "depthwise_conv");
  const bool causal = module.Get<int64_t>("lorder").value_or(0) > 0;
  const Module norm = Child(module, "norm");
  const Tensor* weight = depthwise.TensorNamed("weight");
  if (weight == nullptr || weight->dim() != 3) {
    Refuse("whose depthwise convolution has no weight of 3 dimensions");
  }
  return {{"type", causal ? "causal" : "symmetric"},
          {"kernel_size", weight->size(2)},
          {"norm", ClassName(norm) == "BatchNorm1d" ? "batch_norm" : "layer_norm"},
          {"norm_epsilon", Epsilon(norm)},
          {"activation", ActivationName(Child(module, "activation"))},
          {"bias", depthwise.TensorNamed("bias") != nullptr},
          // A causal convolution is padded before its gate, a symmetric one after it.
          {"left_padding", causal ? "gated_zero" : "zero"}};
}

// The position scheme follows from the classes of the attention and of the positional encoding.
json ReadPosition(const std::string& attention, const std::string& encoding) {
  if (attention == "RelPositionMultiHeadedAttention" && encoding == "RelPositionalEncoding") {
    return {{"scheme", "unshifted"}, {"linear_pos_bias", false}, {"query_scaling", "after_bias"}};
  }
  if (attention == "MultiHeadedAttention" && encoding == "PositionalEncoding") {
    return {{"scheme", "absolute"}};
  }
  // RelPositionalEncoding gives the positions to the attention; MultiHeadedAttention ignores them.
  const bool ignored = attention == "MultiHeadedAttention" && encoding == "RelPositionalEncoding";
  const bool none =
      (attention == "MultiHeadedAttention" || attention == "RelPositionMultiHeadedAttention") &&
      encoding == "NoPositionalEncoding";
  if (ignored || none) return {{"scheme", "none"}};
  Refuse("with " + attention + " and " + encoding +
         ", which is not supported here; models/convert.py may know it");
}

// Relative attention without positions: (q + u) k is q' k with u added to the query's bias.
void FoldContentBias(int64_t num_layers, Tensors* tensors) {
  for (int64_t i = 0; i < num_layers; ++i) {
    const std::string attention = kLayers + std::to_string(i) + ".self_attn.";
    const std::string name = attention + "linear_q.bias";
    Size(*tensors, attention + "pos_bias_u", 2, 0);
    const Tensor& matrix = tensors->at(attention + "pos_bias_u");
    const Tensor content = matrix.Reshaped({matrix.count()});
    const auto bias = tensors->find(name);
    if (bias != tensors->end() && bias->second.shape() != content.shape()) {
      Refuse("whose " + name + " has the shape " + TextOf(bias->second.shape()) + ", expected " +
             TextOf(content.shape()));
    }
    (*tensors)[name] = bias == tensors->end() ? content : Sum(bias->second, content);
    for (const char* unused : {"pos_bias_u", "pos_bias_v", "linear_pos.weight"}) {
      tensors->erase(attention + unused);
    }
  }
}

// WeNet's class of a subsampling, its type in Runnel's format, and how many of 80 bins its
// convolutions leave.
struct SubsamplingClass {
  const char* name;
  const char* type;
  int64_t bins;
};
constexpr SubsamplingClass kSubsamplings[] = {{"Conv2dSubsampling4", "conv2d4", 19},
                                              {"Conv2dSubsampling6", "conv2d6", 12},
                                              {"Conv2dSubsampling8", "conv2d8", 9},
                                              {"LinearNoSubsampling", "linear", kUsualBins}};

const SubsamplingClass& SubsamplingOf(const Module& embed) {
  const std::string name = ClassName(embed);
  for (const SubsamplingClass& subsampling : kSubsamplings) {
    if (name == subsampling.name) return subsampling;
  }
  Refuse("with the subsampling " + name + ", which is not supported");
}

// The size of a feature frame: that of the feature statistics, else 80 if the weights fit it.
int64_t InputDim(const Tensors& tensors, const SubsamplingClass& subsampling, int64_t model_dim) {
  if (tensors.count("encoder.global_cmvn.mean") > 0) {
    return Size(tensors, "encoder.global_cmvn.mean", 1, 0);
  }
  const int64_t inputs = Size(tensors, "encoder.embed.out.0.weight", 2, 1);
  if (std::string(subsampling.type) == "linear") return inputs;
  if (subsampling.bins * model_dim != inputs) {
    Refuse("without feature statistics, and not of 80 bins; convert its experiment folder");
  }
  return kUsualBins;
}

// The configuration has one epsilon for all layer norms, inside and outside the layers.
void CheckEpsilon(const Module& parent, const std::string& name, double expected) {
  if (HasModule(parent, name) && Epsilon(Child(parent, name)) != expected) {
    Refuse("whose layer norm " + name + " has another epsilon than its layers");
  }
}

bool IsBranchformer(const Module& encoder) {
  const std::string kind = ClassName(encoder);
  if (kind == "BranchformerEncoder" || kind == "EBranchformerEncoder") return true;
  // Those of a CTLModel compute each utterance twice in training.
  for (const char* other : {"ConformerEncoder", "TransformerEncoder", "DualConformerEncoder",
                            "DualTransformerEncoder"}) {
    if (kind == other) return false;
  }
  Refuse("of class " + kind +
         ", expected ConformerEncoder, TransformerEncoder, BranchformerEncoder or "
         "EBranchformerEncoder");
}

// Null without the module, which only a Branchformer may lack.
json ReadFeedForward(const Module& layer, bool is_branchformer) {
  if (is_branchformer && !HasModule(layer, "feed_forward")) return nullptr;
  const Module feed_forward = Child(layer, "feed_forward");
  if (ClassName(feed_forward) != "PositionwiseFeedForward") {
    Refuse("with " + ClassName(feed_forward) + ", expected PositionwiseFeedForward");
  }
  return {{"macaron", HasModule(layer, "feed_forward_macaron")},
          {"activation", ActivationName(Child(feed_forward, "activation"))}};
}

Module AttentionOf(const Module& layer, bool is_branchformer) {
  return Child(layer, is_branchformer ? "attn" : "self_attn");
}

// Traits that must be the same in every layer, because the configuration states them once.
json LayerTraits(const Module& layer, bool is_branchformer) {
  json traits = {{"attention", ClassName(AttentionOf(layer, is_branchformer))},
                 {"feed_forward", ReadFeedForward(layer, is_branchformer)}};
  const double epsilon = Epsilon(Child(layer, HasModule(layer, "norm_mha") ? "norm_mha" : "norm1"));
  traits["layer_norm_eps"] = epsilon;
  if (is_branchformer) {
    traits["branches"] = ReadBranches(layer);
    for (const char* name : {"norm_mlp", "norm_ff", "norm_ff_macaron", "norm_final"}) {
      CheckEpsilon(layer, name, epsilon);
    }
    CheckEpsilon(Child(Child(layer, "cgmlp"), "csgu"), "norm", epsilon);
  } else if (HasModule(layer, "conv_module")) {
    traits["convolution"] = ReadConvolution(Child(layer, "conv_module"));
  } else {
    traits["convolution"] = nullptr;
  }
  return traits;
}

// Whether the input is multiplied by sqrt(model_dim).
bool ScalesInput(const Module& encoding, int64_t model_dim) {
  if (ClassName(encoding) == "NoPositionalEncoding") return false;
  const auto scale = encoding.Get<double>("xscale");
  if (!scale.has_value()) Refuse("whose positional encoding has no xscale");
  if (std::abs(*scale - std::sqrt(static_cast<double>(model_dim))) > 1e-6) {
    Refuse("that scales its input by another factor than sqrt(model_dim)");
  }
  return true;
}

int64_t NumHeads(const Module& attention) {
  const int64_t num_heads = attention.Get<int64_t>("h").value_or(0);
  if (attention.Get<int64_t>("h_kv").value_or(num_heads) != num_heads) {
    Refuse("whose heads share keys, which is not supported");
  }
  return num_heads;
}

}  // namespace

std::string EncoderName(const std::string& name) {
  if (name == "encoder.embed.pos_enc.pe") return "";
  const std::string linear = "encoder.embed.linear.";
  if (StartsWith(name, linear)) return "encoder.embed.out.0." + name.substr(linear.size());
  if (!StartsWith(name, kLayers)) return name;
  const size_t dot = name.find('.', std::string(kLayers).size());
  if (dot == std::string::npos) return name;
  const std::string layer = name.substr(0, dot + 1);
  const std::string inner = name.substr(dot + 1);
  if (StartsWith(inner, "concat_linear.")) return "";  // v1; used with concat_after only
  if (StartsWith(inner, "norm1.")) return layer + "norm_mha." + inner.substr(6);
  if (StartsWith(inner, "norm2.")) return layer + "norm_ff." + inner.substr(6);
  const std::string of_branchformer = BranchformerName(inner);
  return of_branchformer.empty() ? "" : layer + of_branchformer;
}

json ReadEncoder(const Module& encoder, Tensors* tensors) {
  const bool is_branchformer = IsBranchformer(encoder);
  const Module layers = Child(encoder, "encoders");
  int64_t num_layers = 0;
  while (HasModule(layers, std::to_string(num_layers))) ++num_layers;
  if (num_layers == 0) Refuse("without encoder layers");
  const Module layer = Child(layers, "0");
  const Module attention = AttentionOf(layer, is_branchformer);
  const json traits = LayerTraits(layer, is_branchformer);
  for (int64_t i = 1; i < num_layers; ++i) {
    if (LayerTraits(Child(layers, std::to_string(i)), is_branchformer) != traits) {
      Refuse("whose layer " + std::to_string(i) + " differs from layer 0, not supported");
    }
  }
  if (layer.Get<bool>("concat_after").value_or(false)) Refuse("with concat_after, not supported");
  const Module embed = Child(encoder, "embed");
  const Module encoding = Child(embed, "pos_enc");
  const auto has = [&](const std::string& name) {
    return tensors->count("encoder.encoders.0." + name) > 0;
  };
  const int64_t model_dim = Size(*tensors, "encoder.embed.out.0.weight", 2, 0);
  const SubsamplingClass& subsampling = SubsamplingOf(embed);
  const json position = ReadPosition(ClassName(attention), ClassName(encoding));
  if (position["scheme"] == "none" && has("self_attn.pos_bias_u")) {
    FoldContentBias(num_layers, tensors);
  }
  const bool norm_first = encoder.Get<bool>("normalize_before").value_or(true);
  if (is_branchformer && !norm_first) Refuse("of a Branchformer whose norms come last");
  const bool after_norm = norm_first && encoder.Get<bool>("final_norm").value_or(true);
  const double epsilon = traits["layer_norm_eps"].get<double>();
  if (HasModule(embed, "out")) CheckEpsilon(Child(embed, "out"), "1", epsilon);
  if (after_norm) {
    CheckEpsilon(encoder, "after_norm", epsilon);
  } else {
    for (const char* unused : {"encoder.after_norm.weight", "encoder.after_norm.bias"}) {
      tensors->erase(unused);
    }
  }
  json section = {
      {"type", is_branchformer ? "branchformer" : "conformer"},
      {"input_dim", InputDim(*tensors, subsampling, model_dim)},
      {"model_dim", model_dim},
      {"num_layers", num_layers},
      {"num_heads", NumHeads(attention)},
      {"feed_forward_dim", 0},
      {"normalization",
       {{"type", tensors->count("encoder.global_cmvn.mean") > 0 ? "global_cmvn" : "none"}}},
      {"subsampling", {{"type", subsampling.type}}},
      {"scale_input", ScalesInput(encoding, model_dim)},
      {"position", position},
      {"attention_bias",
       {{"query", has("self_attn.linear_q.bias")},
        {"key", has("self_attn.linear_k.bias")},
        {"value", has("self_attn.linear_v.bias")},
        {"out", has("self_attn.linear_out.bias")}}},
      {"feed_forward", traits["feed_forward"]},
      {"after_norm", after_norm},
      {"layer_norm_eps", epsilon}};
  if (!traits["feed_forward"].is_null()) {
    section["feed_forward"]["bias"] = has("feed_forward.w_1.bias");
    section["feed_forward_dim"] =
        Size(*tensors, "encoder.encoders.0.feed_forward.w_1.weight", 2, 0);
  }
  if (is_branchformer) {
    CheckMerging(*tensors);
    section["branches"] = traits["branches"];
  } else {
    section["convolution"] = traits["convolution"];
    section["norm_first"] = norm_first;
  }
  return section;
}

}  // namespace runnel::wenet
