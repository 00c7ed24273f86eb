// The checks of verify_streaming. The reference runs them (runtime/model/reference_component.h).
#ifndef RUNNEL_TOOLS_VERIFICATION_VERIFY_MODEL_H_
#define RUNNEL_TOOLS_VERIFICATION_VERIFY_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model.h"
#include "tools/verification/check.h"

namespace runnel {

struct VerificationOptions {
  double tolerance = 1e-4;  // relative, between different computations of the same frames
  uint64_t seed = 1;        // of packet sizes, batches and the chunks at which streams are copied
  bool layer_by_layer = false;
  bool compare_torchscript = true;  // only if the file's TorchScript computes the same as Runnel
  bool compare_libtorch = false;    // the model with itself by LibTorch in float64
  int num_threads = 1;
};

struct VerificationReport {
  size_t num_settings = 0;
  int64_t num_encoder_frames = 0;
  std::vector<Check> checks;
  // The most tokens that a transducer found with a setting; none for a model without a transducer.
  std::optional<size_t> most_tokens;
  // The most tokens, at the end of a setting, that are not compared because rounding changes them.
  size_t most_uncompared_tokens = 0;
  // One line of relative errors per setting, in order.
  std::vector<std::string> setting_lines;
  // Chunk by chunk against the whole utterance under the chunk mask, in order of computation; empty
  // unless layer_by_layer.
  std::vector<std::pair<std::string, Difference>> layer_errors;
};

// Called after each setting, by one thread at a time, with its name and the number of all.
using OnSetting = std::function<void(const std::string& name, size_t num_settings)>;

// Runs all checks of a model, which is loaded as the options say, over SettingGrid; packets,
// copies, transducer, attention decoder and prompt with one left context per chunk size. `samples`:
// mono, at the model's rate. Throws std::runtime_error when they give no encoder frame, where
// LibTorch cannot load the archive, and where the reference is not installed; otherwise as
// Model::Load does.
//
// Errors are relative to the largest magnitude of a result, or to 1 where that is larger. Packets
// and copies are allowed a tenth of the tolerance. If Model::is_bit_reproducible, only the
// comparisons with TorchScript have a tolerance; all others must agree bit for bit. The tokens of a
// transducer must be equal; the error is the number of those that are not. Unless
// Model::is_bit_reproducible, tokens are compared up to the first one that rounding changes: the
// predictor of an untrained model may be chaotic.
//
// A model has the checks of its parts. The TorchScript's encoder is compared through the CTC head,
// or directly if there is none.
VerificationReport VerifyModel(const std::string& model_path, const ModelOptions& model_options,
                               const std::vector<float>& samples,
                               const VerificationOptions& options, const OnSetting& on_setting);

// Throws std::runtime_error where the reference is not installed.
void RequireVerification();

}  // namespace runnel

// Of the reference: VerifyModel.
extern "C" void runnel_reference_verify(const std::string& model_path,
                                        const runnel::ModelOptions& model_options,
                                        const std::vector<float>& samples,
                                        const runnel::VerificationOptions& options,
                                        const runnel::OnSetting& on_setting,
                                        runnel::VerificationReport* report);

#endif  // RUNNEL_TOOLS_VERIFICATION_VERIFY_MODEL_H_
