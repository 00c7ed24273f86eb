// Compares each way to stream a model with the others, and with its TorchScript.
#ifndef RUNNEL_TOOLS_REFERENCE_VERIFICATION_H_
#define RUNNEL_TOOLS_REFERENCE_VERIFICATION_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "tools/reference/head_runs.h"
#include "tools/reference/layer_errors.h"
#include "tools/reference/torchscript_model.h"
#include "tools/verification/check.h"
#include "tools/verification/setting.h"
#include "tools/verification/verify_model.h"

namespace runnel {

// The checks of VerifyModel for a loaded model.
class Verification {
 public:
  // by_libtorch: null, or the same model in another data type, to compare the encoders. Throws as
  // VerifyModel does.
  Verification(std::shared_ptr<const Model> model, std::shared_ptr<const Model> by_libtorch,
               const std::string& model_path, std::vector<float> samples,
               const VerificationOptions& options);

  void Run(const OnSetting& on_setting);
  VerificationReport Report() const;

 private:
  enum CheckIndex {
    kChunked,
    kPackets,
    kCopied,
    kBatched,
    kTokens,
    kForward,
    kForwardChunk,
    kWindows,
    kScriptWindows,
    kPrompt,
    kPredictor,
    kJoint,
    kDecoderLeft,
    kDecoderRight,
    kLibTorch,
    kNumChecks
  };

  std::map<CheckIndex, Check> MakeChecks() const;
  size_t MostUncomparedTokens() const;
  // These handle settings_[index] and may run in several threads, for different settings.
  void CompareWithOthers(size_t index);
  // Returns the rows that chunk by chunk must give.
  at::Tensor CompareChunks(size_t index, const at::Tensor& chunked);
  at::Tensor CompareWindows(size_t index, const at::Tensor& chunked);
  void CompareLayers(size_t index);
  void CompareHeads(size_t index, const at::Tensor& encoder_rows);
  // All settings of tries_all_.
  void CompareTokens(std::mt19937_64* random);
  // Features in the form that the archive's TorchScript takes.
  at::Tensor ScriptFeatures(const at::Tensor& features, int64_t chunk_size) const;
  void Record(CheckIndex check, size_t index, const at::Tensor& actual, const at::Tensor& expected);

  const std::shared_ptr<const Model> model_;
  const std::shared_ptr<const Model> by_libtorch_;
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

#endif  // RUNNEL_TOOLS_REFERENCE_VERIFICATION_H_
