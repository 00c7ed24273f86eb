// The TorchScript program in a model file, run by LibTorch: the reference and baseline for Runnel.
#ifndef RUNNEL_TOOLS_REFERENCE_TORCHSCRIPT_MODEL_H_
#define RUNNEL_TOOLS_REFERENCE_TORCHSCRIPT_MODEL_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/subsampling_geometry.h"

namespace runnel {

// All methods may run in several threads at once. Features are (T, input_dim); they must already be
// normalised if the model normalises over the utterance or the stream (Normalization::kUtterance,
// kRunning). Methods of a part that the model does not have throw c10::Error.
class TorchScriptModel {
 public:
  enum class Execution {
    kInterpreted,  // for inputs whose shape changes often
    kOptimized,    // profiled and compiled anew for every input shape, in its first calls
  };

  // What Forward and ForwardChunk return.
  enum class Output {
    kCtcLogProbs,    // (T', vocab_size); the program's `forward` and `forward_chunk`
    kEncoderFrames,  // (T', model_dim); `encode` and `encode_chunk`
  };

  // The state of a stream between two chunks.
  struct Caches {
    at::Tensor att_cache;  // (layers, heads, left_context, 2 * head_dim)
    at::Tensor cnn_cache;
  };

  // Throws std::runtime_error when LibTorch cannot load the archive. `dtype`: kFloat or kDouble.
  TorchScriptModel(const std::string& path, const EncoderConfig& config, at::ScalarType dtype,
                   Execution execution, Output output);
  ~TorchScriptModel();
  TorchScriptModel(const TorchScriptModel&) = delete;
  TorchScriptModel& operator=(const TorchScriptModel&) = delete;

  const SubsamplingGeometry& subsampling() const { return subsampling_; }

  // The whole utterance under the chunk mask.
  at::Tensor Forward(const at::Tensor& features, int64_t chunk_size, int64_t left_context) const;

  // The caches of a new stream.
  Caches InitialCaches() const;

  // The feature frames that ForwardChunk reads for the chunk of `chunk_size` encoder frames that
  // begins at encoder frame `offset`; padding is not among them.
  FrameRange FramesOfChunk(int64_t offset, int64_t chunk_size) const;

  // `frames`: the features of one chunk; `last`: no more follow. Replaces `caches`.
  at::Tensor ForwardChunk(const at::Tensor& frames, int64_t offset, bool last, int64_t left_context,
                          Caches* caches) const;

  // What the heads read of encoder frames, both (T', model_dim). `language`: its place in the
  // model's list.
  at::Tensor ApplyPrompt(const at::Tensor& encoder_rows, int64_t language) const;

  // What the predictor gives for token sequences, one per row.
  struct PredictorStep {
    at::Tensor outputs;  // (sequences, output_dim)
    at::Tensor states;   // (sequences, ...), after the token
  };

  // The predictor's state of the empty sequence, (1, ...).
  at::Tensor InitialPredictorState() const;

  // Appends a token to each of several sequences; the first token of a sequence is the blank.
  // `states`: (sequences, ...).
  PredictorStep StepPredictor(const std::vector<int32_t>& tokens, const at::Tensor& states) const;

  // heads_input: (queries, model_dim), after the prompt. predictor_outputs: (queries, output_dim).
  // Returns (queries, vocab_size + durations), before the softmax.
  at::Tensor JointLogits(const at::Tensor& heads_input, const at::Tensor& predictor_outputs) const;

  // heads_input: (T', model_dim). Returns (tokens + 1, vocab_size) log probabilities of the token
  // after each beginning of `tokens`; `reverse`: of the tokens from right to left.
  at::Tensor DecoderLogProbs(const at::Tensor& heads_input, const std::vector<int32_t>& tokens,
                             bool reverse) const;

 private:
  struct Module;
  std::unique_ptr<Module> module_;
  SubsamplingGeometry subsampling_;
  at::ScalarType dtype_;
  Execution execution_;
  Output output_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_REFERENCE_TORCHSCRIPT_MODEL_H_
