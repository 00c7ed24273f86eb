// The archive's own code, run by LibTorch: what Runnel's results must equal.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_VERIFICATION_TORCHSCRIPT_MODEL_H_
#define RUNNEL_TOOLS_VERIFICATION_TORCHSCRIPT_MODEL_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "encoder/encoder_config.h"
#include "tools/verification/setting.h"

namespace runnel {

// Both methods may run in several threads at once. Features are (T, input_dim), normalised already
// where the model follows the stream in that (Normalization::kUtterance, kRunning); results are
// (T', vocab_size) log probabilities.
class TorchScriptModel {
 public:
  // Throws std::runtime_error when LibTorch cannot load the archive. `dtype`: kFloat or kDouble.
  TorchScriptModel(const std::string& path, const EncoderConfig& config, at::ScalarType dtype);
  ~TorchScriptModel();
  TorchScriptModel(const TorchScriptModel&) = delete;
  TorchScriptModel& operator=(const TorchScriptModel&) = delete;

  // `forward`: the whole utterance under the chunk mask.
  at::Tensor Forward(const at::Tensor& features, const StreamingSetting& setting) const;

  // `forward_chunk`, one chunk after the other.
  at::Tensor ForwardChunks(const at::Tensor& features, const StreamingSetting& setting) const;

 private:
  struct Module;
  std::unique_ptr<Module> module_;
  SubsamplingGeometry subsampling_;
  at::ScalarType dtype_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_TORCHSCRIPT_MODEL_H_
