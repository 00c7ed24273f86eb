// A loaded model: encoder weights, CTC head, feature options and units; immutable and shared.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools. Start here when embedding:
// Model::Load once, then one Stream (runtime/stream.h) per audio stream.
#ifndef RUNNEL_RUNTIME_MODEL_H_
#define RUNNEL_RUNTIME_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/model_config.h"
#include "runtime/token_table.h"

namespace runnel {

class CtcHead;
class Encoder;
class FrameExtractor;

// In which numbers the large products multiply; sums and everything else are float32, but for
// kFloat64, the reference of the equivalence tests, in which all is float64. All load from the same
// file. kBfloat16 and kInt8 change results a little: docs/benchmarks.md says by how much.
enum class Precision { kFloat32, kBfloat16, kInt8, kFloat64 };

// What computes: the kernels of this project, or LibTorch's operations, the reference (kFloat32 and
// kFloat64 only).
enum class Backend {
  kDefault,  // kFast where this build has it (RUNNEL_KERNELS), but for kFloat64 and kCuda
  kFast,
  kLibTorch
};

// Where it computes. kCuda: the first NVIDIA GPU, by the LibTorch backend.
enum class Device { kCpu, kCuda };

struct ModelOptions {
  Precision precision = Precision::kFloat32;
  Backend backend = Backend::kDefault;
  Device device = Device::kCpu;

  // Streams keep the keys and values of their left context as bfloat16: half the memory. kFast
  // only.
  bool bfloat16_cache = false;

  // units.txt of a file that holds none: WeNet's TorchScript export (final.zip), which loads as it
  // is.
  std::string units_file;

  // To stream a model that was trained on whole utterances only; both change its results, by how
  // much is for its user to measure. Errors for a model that has no use for them. Where they make a
  // model streamable that recommended the whole utterance, it recommends chunks of 32 encoder
  // frames and a left context of 128 from then on.
  bool dynamic_chunk_convolution = false;  // its symmetric convolution sees zeros after the chunk
  bool running_normalization = false;      // its features are normalised by what was heard so far
};

// Const after loading: every method may be called from several threads at once.
class Model {
 public:
  // Reads an archive (models/README.md) or WeNet's export. Throws std::runtime_error with one line
  // that names the file, what was wrong and what was expected, std::invalid_argument for options
  // that this model has no use for.
  static std::shared_ptr<const Model> Load(const std::string& path,
                                           const ModelOptions& options = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelConfig& config() const;
  const TokenTable& tokens() const;

  // True when the file also holds an attention decoder (models/README.md); nothing uses it yet.
  bool has_attention_decoder() const;

  // Rate of the samples that streams accept, in Hz.
  int sample_rate_hz() const;
  // Duration of one encoder frame in milliseconds of audio.
  double encoder_frame_ms() const;

  // Names the weights, the configuration, the units and how they are computed (every ModelOptions
  // that changes results): 32 lower-case hexadecimal digits, the same wherever and whenever it is
  // loaded. The instruction set, which also changes the last bits, is no part of it.
  const std::string& fingerprint() const;

  // True where a stream's results are the same to the bit alone and in any batch, in any packets,
  // chunk by chunk and under the chunk mask: the fast backend.
  bool is_bit_reproducible() const;
  // What computes and on which instruction set, for a log.
  std::string ComputeDescription() const;

  // The parts, for those who run them by hand (tools/dump_encoder, tools/verify_streaming).
  const Encoder& encoder() const;
  const CtcHead& ctc_head() const;
  std::shared_ptr<const FrameExtractor> frame_extractor() const;

 private:
  struct Parts;
  explicit Model(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_H_
