// All checks of one model in one precision: each way to stream it is compared with the others.
#ifndef RUNNEL_TOOLS_VERIFICATION_VERIFICATION_H_
#define RUNNEL_TOOLS_VERIFICATION_VERIFICATION_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "tools/reference/torchscript_model.h"
#include "tools/verification/comparison.h"
#include "tools/verification/head_runs.h"
#include "tools/verification/layer_errors.h"
#include "tools/verification/setting.h"

namespace runnel {

struct VerificationOptions {
  double tolerance = 1e-4;  // relative, between different computations of the same frames
  uint64_t seed = 1;        // of packet sizes, batches and the chunks at which streams are copied
  bool layer_by_layer = false;
  bool compare_torchscript = true;  // only if the file's TorchScript computes the same as Runnel
  int num_threads = 1;
};

// Errors are relative to the largest magnitude of a result, or to 1 where that is larger. Packets
// and copies are allowed a tenth of the tolerance. If Model::is_bit_reproducible, only the
// comparisons with TorchScript have a tolerance; all others must agree bit for bit. The tokens of a
// transducer must be equal; the error is the number of those that are not. Unless
// Model::is_bit_reproducible, tokens are compared up to the first one that rounding changes: the
// predictor of an untrained model may be chaotic.
//
// A model has the checks of its parts. The TorchScript's encoder is compared through the CTC head,
// or directly if there is none.
class Verification {
 public:
  // `samples`: mono, at the model's rate. Throws std::runtime_error when they give no encoder frame
  // or LibTorch cannot load the archive at `model_path`.
  Verification(std::shared_ptr<const Model> model, const std::string& model_path,
               std::vector<float> samples, const VerificationOptions& options);

  // Runs all checks over SettingGrid; packets, copies, transducer, attention decoder and prompt
  // with one left context per chunk size. `on_setting` is called after each setting, by one thread
  // at a time.
  void Run(const std::function<void(const std::string& name)>& on_setting);

  const std::vector<StreamingSetting>& settings() const { return settings_; }
  int64_t num_encoder_frames() const { return num_encoder_frames_; }
  std::vector<Check> checks() const;
  // The most tokens that a transducer found with a setting; none for a model without a transducer.
  std::optional<size_t> most_tokens() const;
  // The most tokens, at the end of a setting, that are not compared because rounding changes them.
  size_t most_uncompared_tokens() const;
  // One line of relative errors per setting, in order.
  const std::vector<std::string>& setting_lines() const { return setting_lines_; }
  // Chunk by chunk against the whole utterance under the chunk mask; empty unless layer_by_layer.
  const LayerErrors& layer_errors() const { return layer_errors_; }

 private:
  enum CheckIndex {
    kChunked,
    kPackets,
    kCopied,
    kBatched,
    kTokens,
    kForward,
    kForwardChunk,
    kPrompt,
    kPredictor,
    kJoint,
    kDecoderLeft,
    kDecoderRight,
    kNumChecks
  };

  std::map<CheckIndex, Check> MakeChecks() const;
  // These handle settings_[index] and may run in several threads, for different settings.
  void CompareWithOthers(size_t index);
  void CompareLayers(size_t index);
  void CompareHeads(size_t index, const at::Tensor& encoder_rows);
  // All settings of tries_all_.
  void CompareTokens(std::mt19937_64* random);
  // The features in the form that the archive's TorchScript takes.
  at::Tensor ScriptFeatures(const StreamingSetting& setting) const;
  void Record(CheckIndex check, size_t index, const at::Tensor& actual, const at::Tensor& expected);

  const std::shared_ptr<const Model> model_;
  const VerificationOptions options_;
  const std::vector<StreamingSetting> settings_;
  const std::vector<float> samples_;
  const at::Tensor features_;  // (T, input_dim) float32
  const int64_t num_encoder_frames_;
  std::optional<TorchScriptModel> script_;
  std::vector<bool> tries_all_;      // per setting: whether it is the one of its chunk size
  std::vector<at::Tensor> chunked_;  // per setting: the result of chunk by chunk
  // Per setting of tries_all_: the transducer's tokens of the whole utterance, and how many of them
  // streams must find.
  std::vector<std::vector<EmittedToken>> whole_tokens_;
  std::vector<size_t> num_certain_tokens_;

  std::mutex mutex_;  // guards the members below
  std::map<CheckIndex, Check> checks_;
  std::vector<std::string> setting_lines_;
  LayerErrors layer_errors_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_VERIFICATION_H_
