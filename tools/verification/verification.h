// All checks of one model in one precision: every way to stream it against every other.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_VERIFICATION_VERIFICATION_H_
#define RUNNEL_TOOLS_VERIFICATION_VERIFICATION_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "tools/verification/comparison.h"
#include "tools/verification/layer_errors.h"
#include "tools/verification/setting.h"
#include "tools/verification/torchscript_model.h"

namespace runnel {

struct VerificationOptions {
  double tolerance = 1e-4;  // relative, between different computations of the same frames
  uint64_t seed = 1;        // of packet sizes, batches and the places of copies
  bool layer_by_layer = false;
  bool compare_torchscript = true;  // the file's TorchScript is Runnel's own and computes the same
  int num_threads = 1;
};

// Errors are relative to the largest magnitude of a result, or to 1 where that is larger. Where
// only the packets or the state's owner differ, a tenth of the tolerance is allowed; where the
// model's computations are exact (Model::is_bit_reproducible), nothing but to TorchScript.
class Verification {
 public:
  // `samples`: mono, at the model's rate. Throws std::runtime_error when they give no encoder frame
  // or LibTorch cannot load the archive at `model_path`.
  Verification(std::shared_ptr<const Model> model, const std::string& model_path,
               std::vector<float> samples, const VerificationOptions& options);

  // Runs everything over SettingGrid, packets and copies with one left context per chunk size.
  // `on_setting` is called after each setting, by one thread at a time.
  void Run(const std::function<void(const std::string& name)>& on_setting);

  const std::vector<StreamingSetting>& settings() const { return settings_; }
  int64_t num_encoder_frames() const { return num_encoder_frames_; }
  const std::vector<Check>& checks() const { return checks_; }
  // One line of relative errors per setting, in order.
  const std::vector<std::string>& setting_lines() const { return setting_lines_; }
  // Chunk by chunk against the whole utterance under the chunk mask; empty unless asked for.
  const LayerErrors& layer_errors() const { return layer_errors_; }

 private:
  enum CheckIndex { kChunked, kPackets, kCopied, kBatched, kForward, kForwardChunk, kNumChecks };

  // Both for settings_[index]; may run in several threads, for different settings.
  void CompareWithOthers(size_t index);
  void CompareLayers(size_t index);
  // The features as the archive's TorchScript takes them.
  at::Tensor ScriptFeatures(const StreamingSetting& setting) const;
  void Record(CheckIndex check, size_t index, const at::Tensor& actual, const at::Tensor& expected);

  const std::shared_ptr<const Model> model_;
  const VerificationOptions options_;
  const std::vector<StreamingSetting> settings_;
  const std::vector<float> samples_;
  const at::Tensor features_;  // (T, input_dim) float32
  const int64_t num_encoder_frames_;
  std::optional<TorchScriptModel> script_;
  std::vector<bool> tries_packets_;  // per setting: also packets and copies
  std::vector<at::Tensor> chunked_;  // per setting: what chunk by chunk gave

  std::mutex mutex_;           // of what follows
  std::vector<Check> checks_;  // by CheckIndex
  std::vector<std::string> setting_lines_;
  LayerErrors layer_errors_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_VERIFICATION_H_
