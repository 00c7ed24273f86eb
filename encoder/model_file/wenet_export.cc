#include "encoder/model_file/wenet_export.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "encoder/model_file/affixes.h"
#include "encoder/model_file/printable_name.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/wenet_modules.h"
#include "encoder/model_file/wenet_transducer.h"

namespace runnel {
namespace {

using nlohmann::json;
using wenet::ActivationName;
using wenet::Child;
using wenet::ClassName;
using wenet::Epsilon;
using wenet::HasModule;
using wenet::Module;
using wenet::Refuse;
using wenet::Size;
using wenet::Sum;
using wenet::Tensors;

constexpr int kUsualBins = 80;
constexpr char kLayers[] = "encoder.encoders.";

// The name of a tensor in Runnel's format, empty for a tensor that the model does not use.
// models/convert/wenet.py has the same rules for checkpoints.
std::string RunnelName(const std::string& name) {
  if (EndsWith(name, ".num_batches_tracked") || name == "encoder.embed.pos_enc.pe") return "";
  const auto moved = [&](const std::string& from, const std::string& to) {
    return to + name.substr(from.size());
  };
  if (EndsWith(name, ".embed.1.pe")) return "";  // of the decoder
  if (StartsWith(name, "decoder.")) return moved("decoder.", "attention_decoder.");
  if (wenet::IsOfTransducer(name)) return wenet::TransducerName(name);
  if (StartsWith(name, "encoder.embed.linear.")) {
    return moved("encoder.embed.linear.", "encoder.embed.out.0.");
  }
  if (!StartsWith(name, kLayers)) return name;
  const size_t dot = name.find('.', std::string(kLayers).size());
  if (dot == std::string::npos) return name;
  const std::string layer = name.substr(0, dot + 1);
  const std::string inner = name.substr(dot + 1);
  if (StartsWith(inner, "concat_linear.")) return "";  // v1; used with concat_after only
  if (StartsWith(inner, "norm1.")) return layer + "norm_mha." + inner.substr(6);
  if (StartsWith(inner, "norm2.")) return layer + "norm_ff." + inner.substr(6);
  return name;
}

Tensors RenamedTensors(const ScriptArchive& script) {
  Tensors tensors;
  for (const auto& [name, tensor] : script.Tensors()) {
    const std::string renamed = RunnelName(name);
    if (!renamed.empty()) tensors[renamed] = tensor;
  }
  return tensors;
}

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

// Traits that must be the same in every layer, because the configuration states them once.
json LayerTraits(const Module& layer) {
  const bool conformer = HasModule(layer, "norm_mha");
  const Module feed_forward = Child(layer, "feed_forward");
  if (ClassName(feed_forward) != "PositionwiseFeedForward") {
    Refuse("with " + ClassName(feed_forward) + ", expected PositionwiseFeedForward");
  }
  return {
      {"attention", ClassName(Child(layer, "self_attn"))},
      {"macaron", HasModule(layer, "feed_forward_macaron")},
      {"activation", ActivationName(Child(feed_forward, "activation"))},
      {"layer_norm_eps", Epsilon(Child(layer, conformer ? "norm_mha" : "norm1"))},
      {"convolution", HasModule(layer, "conv_module") ? ReadConvolution(Child(layer, "conv_module"))
                                                      : json(nullptr)}};
}

// The configuration has one epsilon for all layer norms, inside and outside the layers.
void CheckEpsilon(const Module& parent, const std::string& name, double expected) {
  if (HasModule(parent, name) && Epsilon(Child(parent, name)) != expected) {
    Refuse("whose layer norm " + name + " has another epsilon than its layers");
  }
}

json ReadEncoder(const Module& encoder, Tensors* tensors) {
  const std::string kind = ClassName(encoder);
  if (kind != "ConformerEncoder" && kind != "TransformerEncoder") {
    Refuse("of class " + kind + ", expected ConformerEncoder or TransformerEncoder");
  }
  const Module layers = Child(encoder, "encoders");
  int64_t num_layers = 0;
  while (HasModule(layers, std::to_string(num_layers))) ++num_layers;
  if (num_layers == 0) Refuse("without encoder layers");
  const Module layer = Child(layers, "0");
  const Module attention = Child(layer, "self_attn");
  const json traits = LayerTraits(layer);
  for (int64_t i = 1; i < num_layers; ++i) {
    if (LayerTraits(Child(layers, std::to_string(i))) != traits) {
      Refuse("whose layer " + std::to_string(i) + " differs from layer 0, not supported");
    }
  }
  const Module embed = Child(encoder, "embed");
  const Module encoding = Child(embed, "pos_enc");
  if (layer.Get<bool>("concat_after").value_or(false)) Refuse("with concat_after, not supported");
  const int64_t num_heads = attention.Get<int64_t>("h").value_or(0);
  if (attention.Get<int64_t>("h_kv").value_or(num_heads) != num_heads) {
    Refuse("whose heads share keys, which is not supported");
  }
  const auto has = [&](const std::string& name) {
    return tensors->count("encoder.encoders.0." + name) > 0;
  };
  const int64_t model_dim = Size(*tensors, "encoder.embed.out.0.weight", 2, 0);
  const SubsamplingClass& subsampling = SubsamplingOf(embed);
  const json position = ReadPosition(ClassName(attention), ClassName(encoding));
  if (position["scheme"] == "none" && has("self_attn.pos_bias_u")) {
    FoldContentBias(num_layers, tensors);
  }
  const bool scaled = ClassName(encoding) != "NoPositionalEncoding";
  const auto scale = encoding.Get<double>("xscale");
  if (scaled && !scale.has_value()) Refuse("whose positional encoding has no xscale");
  if (scaled && std::abs(*scale - std::sqrt(static_cast<double>(model_dim))) > 1e-6) {
    Refuse("that scales its input by another factor than sqrt(model_dim)");
  }
  const bool norm_first = encoder.Get<bool>("normalize_before").value_or(true);
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
  return {{"type", "conformer"},
          {"input_dim", InputDim(*tensors, subsampling, model_dim)},
          {"model_dim", model_dim},
          {"num_layers", num_layers},
          {"num_heads", num_heads},
          {"feed_forward_dim", Size(*tensors, "encoder.encoders.0.feed_forward.w_1.weight", 2, 0)},
          {"normalization",
           {{"type", tensors->count("encoder.global_cmvn.mean") > 0 ? "global_cmvn" : "none"}}},
          {"subsampling", {{"type", subsampling.type}}},
          {"scale_input", scaled},
          {"position", position},
          {"attention_bias",
           {{"query", has("self_attn.linear_q.bias")},
            {"key", has("self_attn.linear_k.bias")},
            {"value", has("self_attn.linear_v.bias")},
            {"out", has("self_attn.linear_out.bias")}}},
          {"feed_forward",
           {{"macaron", traits["macaron"]},
            {"activation", traits["activation"]},
            {"bias", has("feed_forward.w_1.bias")}}},
          {"convolution", traits["convolution"]},
          {"norm_first", norm_first},
          {"after_norm", after_norm},
          {"layer_norm_eps", traits["layer_norm_eps"]}};
}

// As WeNet's runtime: chunks of 16 for a model that was trained with chunks of any size.
json ReadStreaming(const Module& encoder, const json& encoder_section) {
  const int64_t fixed = encoder.Get<int64_t>("static_chunk_size").value_or(0);
  const bool dynamic = encoder.Get<bool>("use_dynamic_chunk").value_or(false);
  const json& convolution = encoder_section["convolution"];
  const bool whole =
      (fixed <= 0 && !dynamic) || (convolution.is_object() && convolution["type"] == "symmetric");
  const bool dynamic_left = encoder.Get<bool>("use_dynamic_left_chunk").value_or(false);
  return {{"chunk_size", whole                   ? -1
                         : fixed > 0 && !dynamic ? fixed
                                                 : 16},
          {"left_context", dynamic_left && !whole ? 64 : -1},
          {"min_chunk_size", 1},
          {"max_chunk_size", nullptr},
          {"max_left_context", nullptr},
          {"only", nullptr}};
}

// The id of <blank> or <blk> in units.txt; 0, WeNet's default, if neither is there.
int64_t BlankId(const std::string& units_text) {
  std::istringstream lines(units_text);
  for (std::string token, id; lines >> token >> id;) {
    const bool is_number =
        !id.empty() && id.size() < 9 && id.find_first_not_of("0123456789") == std::string::npos;
    if ((token == "<blank>" || token == "<blk>") && is_number) return std::stoll(id);
  }
  return 0;
}

// units.txt with the word boundary <space> under Runnel's name, U+2581.
std::string WithWordBoundary(std::string units_text) {
  const std::string space = "<space>";
  const size_t at = StartsWith(units_text, space) ? 0 : units_text.find("\n" + space + " ");
  if (at == std::string::npos) return units_text;
  return units_text.replace(at == 0 ? 0 : at + 1, space.size(), "\xe2\x96\x81");
}

json WenetFeatures(const json& encoder_section) {
  return {{"type", "fbank"},         {"sample_frequency", 16000},
          {"sample_scale", 32768.0}, {"frame_length_ms", 25.0},
          {"frame_shift_ms", 10.0},  {"num_mel_bins", encoder_section["input_dim"]},
          {"low_freq", 20.0},        {"high_freq", 0.0},
          {"window_type", "povey"},  {"blackman_coeff", 0.42},
          {"preemph_coeff", 0.97},   {"remove_dc_offset", true},
          {"dither", 0.0},           {"dither_seed", 0},
          {"snip_edges", true},      {"round_to_power_of_two", true},
          {"use_energy", false},     {"raw_energy", true},
          {"energy_floor", 0.0},     {"use_log_fbank", true},
          {"use_power", true},       {"htk_compat", false}};
}

// Files of version 3 and later have no tensors that nothing uses.
void EraseAttentionDecoder(Tensors* tensors) {
  const std::string prefix = "attention_decoder.";
  for (auto tensor = tensors->begin(); tensor != tensors->end();) {
    tensor = StartsWith(tensor->first, prefix) ? tensors->erase(tensor) : std::next(tensor);
  }
}

}  // namespace

bool IsWenetExport(const std::vector<std::string>& entry_names) {
  return std::any_of(entry_names.begin(), entry_names.end(), [](const std::string& name) {
    return name.find("/code/") != std::string::npos &&
           (EndsWith(name, "/asr_model.py") || EndsWith(name, "/transducer.py"));
  });
}

ModelArchive ReadWenetExport(const ScriptArchive& script, const std::string& units_text) {
  const Module module = script.Root();
  const bool is_transducer = ClassName(module) == "Transducer";
  if (!is_transducer && ClassName(module) != "ASRModel") {
    throw std::runtime_error("holds a module of class " + ClassName(module) +
                             ", expected WeNet's ASRModel or Transducer");
  }
  const Module encoder = Child(module, "encoder");
  ModelArchive archive;
  if (script.HasPackedLinear()) archive.note = "weights dequantised from int8";
  archive.tensors = RenamedTensors(script);
  Tensors* tensors = &archive.tensors;
  const bool has_ctc = tensors->count("ctc.ctc_lo.weight") > 0;
  if (!has_ctc && !is_transducer) Refuse("without ctc.ctc_lo.weight, which its CTC head needs");
  const json encoder_section = ReadEncoder(encoder, tensors);
  json config = {{"format", "runnel-model"},
                 {"format_version", 2},
                 {"name", "wenet"},
                 {"features", WenetFeatures(encoder_section)},
                 {"encoder", encoder_section},
                 {"ctc", nullptr},
                 {"streaming", ReadStreaming(encoder, encoder_section)}};
  int64_t blank_id = BlankId(units_text);
  if (is_transducer) {
    blank_id = module.Get<int64_t>("blank").value_or(blank_id);
    config["format_version"] = 3;  // the first one with transducers
    config["transducer"] = wenet::ReadTransducer(module, blank_id, tensors);
    config["attention_decoder"] = nullptr;
    config["prompt"] = nullptr;
    EraseAttentionDecoder(tensors);
  }
  if (has_ctc) {
    config["ctc"] = {{"vocab_size", Size(*tensors, "ctc.ctc_lo.weight", 2, 0)},
                     {"blank_id", blank_id}};
  }
  archive.config_json = config.dump();
  archive.units_text = WithWordBoundary(units_text);
  return archive;
}

}  // namespace runnel
