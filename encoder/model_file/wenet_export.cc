#include "encoder/model_file/wenet_export.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "encoder/model_file/affixes.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/wenet_encoder.h"
#include "encoder/model_file/wenet_modules.h"
#include "encoder/model_file/wenet_transducer.h"

namespace runnel {
namespace {

using nlohmann::json;
using wenet::Child;
using wenet::ClassName;
using wenet::Module;
using wenet::Refuse;
using wenet::Size;
using wenet::Tensors;

// The name of a tensor in Runnel's format, empty for a tensor that the model does not use.
// models/convert/wenet.py has the same rules for checkpoints.
std::string RunnelName(const std::string& name) {
  if (EndsWith(name, ".num_batches_tracked")) return "";
  if (EndsWith(name, ".embed.1.pe")) return "";  // of the decoder
  const std::string decoder = "decoder.";
  if (StartsWith(name, decoder)) return "attention_decoder." + name.substr(decoder.size());
  if (wenet::IsOfTransducer(name)) return wenet::TransducerName(name);
  return wenet::EncoderName(name);
}

Tensors RenamedTensors(const std::map<std::string, Tensor>& stored) {
  Tensors tensors;
  for (const auto& [name, tensor] : stored) {
    const std::string renamed = RunnelName(name);
    if (renamed.empty()) continue;
    const bool is_double = tensor.type() == DataType::kFloat64;
    tensors[renamed] = is_double ? Tensor(tensor.shape(), Float32Values(tensor)) : tensor;
  }
  return tensors;
}

// As WeNet's runtime: chunks of 16 for a model that was trained with chunks of any size.
json ReadStreaming(const Module& encoder, const json& encoder_section) {
  const int64_t fixed = encoder.Get<int64_t>("static_chunk_size").value_or(0);
  const bool dynamic = encoder.Get<bool>("use_dynamic_chunk").value_or(false);
  const bool is_branchformer = encoder_section["type"] == "branchformer";
  const json& convolution = encoder_section[is_branchformer ? "branches" : "convolution"];
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
    return ("/" + name).find("/code/") != std::string::npos &&
           (EndsWith(name, "/asr_model.py") || EndsWith(name, "/asr_model_ctl.py") ||
            EndsWith(name, "/transducer.py"));
  });
}

ModelArchive ReadWenetExport(const ScriptArchive& script, const std::string& units_text) {
  const Module module = script.Root();
  const std::string kind = ClassName(module);
  const bool is_transducer = kind == "Transducer";
  // CTLModel is an ASRModel that was trained with another loss.
  if (!is_transducer && kind != "ASRModel" && kind != "CTLModel") {
    throw std::runtime_error("holds a module of class " + kind +
                             ", expected WeNet's ASRModel, CTLModel or Transducer");
  }
  const std::map<std::string, Tensor> stored = script.Tensors();
  const bool has_names = std::any_of(stored.begin(), stored.end(), [](const auto& tensor) {
    return StartsWith(tensor.first, "encoder.");
  });
  if (!has_names) {
    Refuse(
        "that is frozen (torch.jit.freeze), so that its weights have no names; expected the export "
        "before it was frozen");
  }
  const Module encoder = Child(module, "encoder");
  ModelArchive archive;
  if (script.HasPackedLinear()) archive.note = "weights dequantised from int8";
  archive.tensors = RenamedTensors(stored);
  Tensors* tensors = &archive.tensors;
  const bool has_ctc = tensors->count("ctc.ctc_lo.weight") > 0;
  if (!has_ctc && !is_transducer) Refuse("without ctc.ctc_lo.weight, which its CTC head needs");
  const json encoder_section = wenet::ReadEncoder(encoder, tensors);
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
