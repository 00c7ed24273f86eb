#include "encoder/wenet_export.h"

#include <ATen/TensorOperators.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "encoder/stripped_archive.h"
#include "encoder/subsampling_geometry.h"

namespace runnel {
namespace {

using nlohmann::json;
using torch::jit::Module;

constexpr int kUsualBins = 80;

[[noreturn]] void Refuse(const std::string& what) {
  throw std::runtime_error("is a WeNet export " + what);
}

std::string ClassName(const Module& module) { return module.type()->name()->name(); }

bool HasModule(const Module& module, const std::string& name) {
  return module.hasattr(name) && module.attr(name).isModule();
}

Module Child(const Module& module, const std::string& name) {
  if (!HasModule(module, name)) {
    Refuse("whose " + ClassName(module) + " has no " + name + ", which is not supported");
  }
  return module.attr(name).toModule();
}

bool BoolAttribute(const Module& module, const std::string& name, bool otherwise) {
  return module.hasattr(name) && module.attr(name).isBool() ? module.attr(name).toBool()
                                                            : otherwise;
}

int64_t IntAttribute(const Module& module, const std::string& name, int64_t otherwise) {
  return module.hasattr(name) && module.attr(name).isInt() ? module.attr(name).toInt() : otherwise;
}

double Epsilon(const Module& norm) {
  if (ClassName(norm) != "LayerNorm" && ClassName(norm) != "BatchNorm1d") {
    Refuse("with a norm of class " + ClassName(norm) + ", expected LayerNorm or BatchNorm1d");
  }
  return norm.attr("eps").toDouble();
}

std::string ActivationName(const Module& activation) {
  const std::string name = ClassName(activation);
  if (name == "SiLU" || name == "Swish") return "swish";
  if (name == "ReLU") return "relu";
  if (name == "GELU") return "gelu";
  Refuse("with the activation " + name + ", expected SiLU, Swish, ReLU or GELU");
}

// Names and tensors of the export under ours; those that its model does not use are left out.
std::map<std::string, at::Tensor> RenamedTensors(const Module& module) {
  static const std::vector<std::pair<std::regex, std::string>> rules = {
      {std::regex(R"(encoder\.embed\.pos_enc\.pe)"), ""},
      {std::regex(R"(encoder\.embed\.linear\.(.+))"), "encoder.embed.out.0.$1"},
      {std::regex(R"((encoder\.encoders\.\d+\.)norm1\.(.+))"), "$1norm_mha.$2"},
      {std::regex(R"((encoder\.encoders\.\d+\.)norm2\.(.+))"), "$1norm_ff.$2"},
      {std::regex(R"(encoder\.encoders\.\d+\.concat_linear\..+)"), ""},
      {std::regex(R"(.+\.num_batches_tracked)"), ""},
      {std::regex(R"(decoder\.(.+))"), "attention_decoder.$1"}};
  std::map<std::string, at::Tensor> tensors;
  const auto add = [&](const std::string& name, const at::Tensor& tensor) {
    std::string ours = name;
    for (const auto& [pattern, replacement] : rules) {
      if (!std::regex_match(name, pattern)) continue;
      ours = std::regex_replace(name, pattern, replacement);
      break;
    }
    if (!ours.empty()) tensors[ours] = tensor;
  };
  for (const auto& named : module.named_parameters()) add(named.name, named.value);
  for (const auto& named : module.named_buffers()) add(named.name, named.value);
  return tensors;
}

json ReadConvolution(const Module& module) {
  const Module depthwise = Child(module, "depthwise_conv");
  const bool causal = IntAttribute(module, "lorder", 0) > 0;
  const Module norm = Child(module, "norm");
  return {{"type", causal ? "causal" : "symmetric"},
          {"kernel_size", depthwise.attr("weight").toTensor().size(2)},
          {"norm", ClassName(norm) == "BatchNorm1d" ? "batch_norm" : "layer_norm"},
          {"norm_epsilon", Epsilon(norm)},
          {"activation", ActivationName(Child(module, "activation"))},
          {"bias", depthwise.hasattr("bias") && depthwise.attr("bias").isTensor()},
          // A causal convolution is padded before its gate, a symmetric one after it.
          {"left_padding", causal ? "gated_zero" : "zero"}};
}

// The scheme, by the classes of attention and of the positional encoding.
json ReadPosition(const std::string& attention, const std::string& encoding) {
  if (attention == "RelPositionMultiHeadedAttention" && encoding == "RelPositionalEncoding") {
    return {{"scheme", "unshifted"}, {"linear_pos_bias", false}, {"query_scaling", "after_bias"}};
  }
  if (attention == "MultiHeadedAttention" && encoding == "PositionalEncoding") {
    return {{"scheme", "absolute"}};
  }
  // RelPositionalEncoding hands the positions to the attention, which may not look at them.
  const bool ignored = attention == "MultiHeadedAttention" && encoding == "RelPositionalEncoding";
  const bool none =
      (attention == "MultiHeadedAttention" || attention == "RelPositionMultiHeadedAttention") &&
      encoding == "NoPositionalEncoding";
  if (ignored || none) return {{"scheme", "none"}};
  Refuse("with " + attention + " and " + encoding +
         ", which is not supported here; models/convert.py may know it");
}

// Relative attention without positions: (q + u) k is q' k with u added to the query's bias.
void FoldContentBias(std::map<std::string, at::Tensor>* tensors) {
  std::vector<std::string> names;
  for (const auto& named : *tensors) names.push_back(named.first);
  static const std::regex pattern(R"((encoder\.encoders\.\d+\.self_attn\.)pos_bias_u)");
  for (const std::string& name : names) {
    std::smatch match;
    if (!std::regex_match(name, match, pattern)) continue;
    const std::string attention = match[1];
    at::Tensor& bias = tensors->at(attention + "linear_q.bias");
    bias = bias + tensors->at(name).flatten();
    for (const char* unused : {"pos_bias_u", "pos_bias_v", "linear_pos.weight"}) {
      tensors->erase(attention + unused);
    }
  }
}

const char* SubsamplingName(const Module& embed) {
  const std::string name = ClassName(embed);
  if (name == "Conv2dSubsampling4") return "conv2d4";
  if (name == "Conv2dSubsampling6") return "conv2d6";
  if (name == "Conv2dSubsampling8") return "conv2d8";
  if (name == "LinearNoSubsampling") return "linear";
  Refuse("with the subsampling " + name + ", which is not supported");
}

// The size of a feature frame: told by the statistics, else 80 where the subsampling can take it.
int64_t InputDim(const std::map<std::string, at::Tensor>& tensors, const std::string& subsampling,
                 int64_t model_dim) {
  const auto mean = tensors.find("encoder.global_cmvn.mean");
  if (mean != tensors.end()) return mean->second.size(0);
  const int64_t inputs = tensors.at("encoder.embed.out.0.weight").size(1);
  if (subsampling == "linear") return inputs;
  const SubsamplingType type = subsampling == "conv2d4"   ? SubsamplingType::kConv2d4
                               : subsampling == "conv2d6" ? SubsamplingType::kConv2d6
                                                          : SubsamplingType::kConv2d8;
  if (SubsamplingGeometry({type}).NumBins(kUsualBins) * model_dim != inputs) {
    Refuse("without feature statistics, and not of 80 bins; convert its experiment folder");
  }
  return kUsualBins;
}

json ReadEncoder(const Module& encoder, std::map<std::string, at::Tensor>* tensors) {
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
  const Module feed_forward = Child(layer, "feed_forward");
  const Module embed = Child(encoder, "embed");
  const Module encoding = Child(embed, "pos_enc");
  if (Child(attention, "linear_q").hasattr("_packed_params")) {
    Refuse("with int8 weights (final_quant.zip), expected the float one (final.zip)");
  }
  if (ClassName(feed_forward) != "PositionwiseFeedForward") {
    Refuse("with " + ClassName(feed_forward) + ", expected PositionwiseFeedForward");
  }
  if (BoolAttribute(layer, "concat_after", false)) Refuse("with concat_after, not supported");
  const int64_t num_heads = IntAttribute(attention, "h", 0);
  if (IntAttribute(attention, "h_kv", num_heads) != num_heads) {
    Refuse("whose heads share keys, which is not supported");
  }
  const auto has = [&](const std::string& name) {
    return tensors->count("encoder.encoders.0." + name) > 0;
  };
  const int64_t model_dim = tensors->at("ctc.ctc_lo.weight").size(1);
  const std::string subsampling = SubsamplingName(embed);
  const json position = ReadPosition(ClassName(attention), ClassName(encoding));
  if (position["scheme"] == "none" && has("self_attn.pos_bias_u")) FoldContentBias(tensors);
  const bool scaled = ClassName(encoding) != "NoPositionalEncoding";
  if (scaled && std::abs(encoding.attr("xscale").toDouble() -
                         std::sqrt(static_cast<double>(model_dim))) > 1e-6) {
    Refuse("that scales its input by another factor than sqrt(model_dim)");
  }
  const bool norm_first = BoolAttribute(encoder, "normalize_before", true);
  const bool after_norm = norm_first && BoolAttribute(encoder, "final_norm", true);
  if (!after_norm) {
    for (const char* unused : {"encoder.after_norm.weight", "encoder.after_norm.bias"}) {
      tensors->erase(unused);
    }
  }
  return {
      {"type", "conformer"},
      {"input_dim", InputDim(*tensors, subsampling, model_dim)},
      {"model_dim", model_dim},
      {"num_layers", num_layers},
      {"num_heads", num_heads},
      {"feed_forward_dim", tensors->at("encoder.encoders.0.feed_forward.w_1.weight").size(0)},
      {"normalization",
       {{"type", tensors->count("encoder.global_cmvn.mean") > 0 ? "global_cmvn" : "none"}}},
      {"subsampling", {{"type", subsampling}}},
      {"scale_input", scaled},
      {"position", position},
      {"attention_bias",
       {{"query", has("self_attn.linear_q.bias")},
        {"key", has("self_attn.linear_k.bias")},
        {"value", has("self_attn.linear_v.bias")},
        {"out", has("self_attn.linear_out.bias")}}},
      {"feed_forward",
       {{"macaron", HasModule(layer, "feed_forward_macaron")},
        {"activation", ActivationName(Child(feed_forward, "activation"))},
        {"bias", has("feed_forward.w_1.bias")}}},
      {"convolution", HasModule(layer, "conv_module") ? ReadConvolution(Child(layer, "conv_module"))
                                                      : json(nullptr)},
      {"norm_first", norm_first},
      {"after_norm", after_norm},
      {"layer_norm_eps",
       Epsilon(Child(layer, HasModule(layer, "norm_mha") ? "norm_mha" : "norm1"))}};
}

// Chunks of 16 where the model was trained with chunks of any size, as WeNet's runtime does.
json ReadStreaming(const Module& encoder, const json& encoder_section) {
  const int64_t fixed = IntAttribute(encoder, "static_chunk_size", 0);
  const bool dynamic = BoolAttribute(encoder, "use_dynamic_chunk", false);
  const json& convolution = encoder_section["convolution"];
  const bool whole =
      (fixed <= 0 && !dynamic) || (convolution.is_object() && convolution["type"] == "symmetric");
  const bool dynamic_left = BoolAttribute(encoder, "use_dynamic_left_chunk", false);
  return {{"chunk_size", whole                   ? -1
                         : fixed > 0 && !dynamic ? fixed
                                                 : 16},
          {"left_context", dynamic_left && !whole ? 64 : -1},
          {"min_chunk_size", 1},
          {"max_chunk_size", nullptr},
          {"max_left_context", nullptr},
          {"only", nullptr}};
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

}  // namespace

bool IsWenetExport(const std::vector<std::string>& entry_names) {
  static const std::regex pattern(R"([^/]+/code/.*asr_model\.py)");
  for (const std::string& name : entry_names) {
    if (std::regex_match(name, pattern)) return true;
  }
  return false;
}

ModelArchive ReadWenetExport(const std::string& path, const std::string& units_text) {
  std::istringstream stripped(StrippedArchive(path));
  const Module module = torch::jit::load(stripped, c10::Device(c10::kCPU));
  if (ClassName(module) != "ASRModel") {
    Refuse("of class " + ClassName(module) + ", expected ASRModel (joint CTC and attention)");
  }
  ModelArchive archive;
  archive.path = path;
  archive.tensors = RenamedTensors(module);
  const Module encoder = Child(module, "encoder");
  if (archive.tensors.count("ctc.ctc_lo.weight") == 0) {
    Refuse("without ctc.ctc_lo.weight: it has no CTC head, or int8 weights (final_quant.zip)");
  }
  const json encoder_section = ReadEncoder(encoder, &archive.tensors);
  archive.config_json =
      json{{"format", "runnel-model"},
           {"format_version", 2},
           {"name", "wenet"},
           {"features", WenetFeatures(encoder_section)},
           {"encoder", encoder_section},
           {"ctc",
            {{"vocab_size", archive.tensors.at("ctc.ctc_lo.weight").size(0)}, {"blank_id", 0}}},
           {"streaming", ReadStreaming(encoder, encoder_section)}}
          .dump();
  archive.units_text = std::regex_replace(units_text, std::regex("<space>"), "\xe2\x96\x81");
  return archive;
}

}  // namespace runnel
