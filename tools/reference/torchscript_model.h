// The TorchScript program in a model file, run by LibTorch: the reference and baseline for Runnel.
#ifndef RUNNEL_TOOLS_REFERENCE_TORCHSCRIPT_MODEL_H_
#define RUNNEL_TOOLS_REFERENCE_TORCHSCRIPT_MODEL_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "encoder/encoder_config.h"
#include "encoder/subsampling_geometry.h"

namespace runnel {

// All methods may run in several threads at once. Features are (T, input_dim); they must already be
// normalised if the model normalises over the utterance or the stream (Normalization::kUtterance,
// kRunning). Results are (T', vocab_size) log probabilities.
class TorchScriptModel {
 public:
  enum class Execution {
    kInterpreted,  // for inputs whose shape changes often
    kOptimized,    // profiled and compiled anew for every input shape, in its first calls
  };

  // The state of a stream between two chunks.
  struct Caches {
    at::Tensor att_cache;  // (layers, heads, left_context, 2 * head_dim)
    at::Tensor cnn_cache;
  };

  // Throws std::runtime_error when LibTorch cannot load the archive. `dtype`: kFloat or kDouble.
  TorchScriptModel(const std::string& path, const EncoderConfig& config, at::ScalarType dtype,
                   Execution execution);
  ~TorchScriptModel();
  TorchScriptModel(const TorchScriptModel&) = delete;
  TorchScriptModel& operator=(const TorchScriptModel&) = delete;

  const SubsamplingGeometry& subsampling() const { return subsampling_; }

  // `forward`: the whole utterance under the chunk mask.
  at::Tensor Forward(const at::Tensor& features, int64_t chunk_size, int64_t left_context) const;

  // The caches of a new stream.
  Caches InitialCaches() const;

  // The feature frames that `forward_chunk` reads for the chunk of `chunk_size` encoder frames that
  // begins at encoder frame `offset`; padding is not among them.
  FrameRange FramesOfChunk(int64_t offset, int64_t chunk_size) const;

  // `forward_chunk`. `frames`: the features of one chunk; `last`: no more follow. Replaces
  // `caches`.
  at::Tensor ForwardChunk(const at::Tensor& frames, int64_t offset, bool last, int64_t left_context,
                          Caches* caches) const;

 private:
  struct Module;
  std::unique_ptr<Module> module_;
  SubsamplingGeometry subsampling_;
  at::ScalarType dtype_;
  Execution execution_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_REFERENCE_TORCHSCRIPT_MODEL_H_
