// A loaded model: load it once, share it, and open one Stream (runtime/stream.h) per audio stream
// or one Recognizer (runtime/recognizer.h) for many.
//
// The headers in runtime/ are the public interface of the C++ library; each folder below it holds a
// part of the implementation. An embedding program also needs frontend/audio_source.h when it reads
// audio files.
#ifndef RUNNEL_RUNTIME_MODEL_H_
#define RUNNEL_RUNTIME_MODEL_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/streaming_config.h"
#include "runtime/token_table.h"

namespace runnel {

struct ModelParts;

// Data type of the large matrix multiplications. Sums and all other operations are float32. With
// kFloat64, the reference of the equivalence tests, everything is float64. docs/accuracy.md says
// how far kBfloat16, kInt8 and kInt4 change results.
//
// kCpu computes a file with packed weights in its own precision only, and other files in all of
// them but kInt4, which only pack_model gives. kLibTorch computes both in kFloat32 and kFloat64; of
// a packed file, with the weights as they were rounded.
//
// kInt4: int8 matmuls, most of whose weights have four bits
// (encoder/cpu/kernels/matmul/four_bits.h).
//
// kDefault is the precision of a file that holds packed weights (docs/large_models.md), and
// kFloat32 for other files.
enum class Precision { kFloat32, kBfloat16, kInt8, kFloat64, kDefault, kInt4 };

enum class Backend {
  kDefault,  // kCpu where the precision is not kFloat64
  kCpu,      // Runnel's own kernels
  kLibTorch  // LibTorch's operations, the reference; kFloat32 and kFloat64 only. A component that
             // is loaded when a model first needs it.
};

struct ModelOptions {
  Precision precision = Precision::kDefault;
  Backend backend = Backend::kDefault;

  // Streams keep the keys and values of their left context as bfloat16, which halves their memory.
  // kCpu only.
  bool bfloat16_cache = false;

  // Threads that compute one step of the encoder. More than 1 shorten the time of a chunk where few
  // streams run. More threads than idle cores make it longer. For many streams, a thread per stream
  // computes more. Each thread that decodes starts its own. Results have the same bits. 1 to 64;
  // kCpu only.
  int step_threads = 1;

  // Path of units.txt, for a model file that holds none: WeNet's TorchScript export (final.zip,
  // final_quant.zip).
  std::string units_file;

  // Both let a model stream that was trained on whole utterances only. Both change its results, so
  // measure its accuracy. Model::Load throws std::invalid_argument for a model that needs neither,
  // and for one that still needs the whole utterance with them.
  // A model that recommended the whole utterance and can stream with these options recommends
  // chunks of 32 encoder frames and a left context of 128.
  bool dynamic_chunk_convolution = false;  // symmetric convolution sees zeros after the chunk
  bool running_normalization = false;      // features are normalised by the frames so far
};

// Immutable: every method may be called from several threads at once.
class Model {
 public:
  // Reads a model file (models/README.md) or WeNet's export. Throws std::runtime_error with one
  // line that names the file, what is wrong and what was expected; std::invalid_argument for
  // options that exclude each other or that this model does not support. Where the component of
  // LibTorch is not installed, a model that needs it throws std::runtime_error with one line that
  // says how to install it.
  static std::shared_ptr<const Model> Load(const std::string& path,
                                           const ModelOptions& options = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // The name in the model file.
  const std::string& name() const;
  // Recommended and permitted chunk sizes and left contexts.
  const StreamingConfig& streaming() const;
  const TokenTable& tokens() const;
  // What StreamOptions::language may be; empty for a model without a language prompt.
  std::vector<std::string> languages() const;

  // Rate of the audio that the model was trained on, in Hz.
  int sample_rate_hz() const;
  // Width of a feature frame, and the milliseconds of audio from one to the next.
  int feature_dim() const;
  double feature_frame_ms() const;
  // Duration of one encoder frame, in milliseconds of audio.
  double encoder_frame_ms() const;

  // Identifies the weights, the configuration, the tokens and the ModelOptions that change results:
  // 32 lower-case hexadecimal digits, equal wherever the model is loaded. The instruction set also
  // changes the last bits of results, but is not part of it.
  const std::string& fingerprint() const;

  // True for the CPU backend: a stream's results are then bit-identical alone and in any batch, in
  // any packets, chunk by chunk and under the chunk mask.
  bool is_bit_reproducible() const;
  // Precision, cache and instruction set in one line, for a log; also whether the weights were
  // dequantised from int8 (WeNet's final_quant.zip).
  std::string ComputeDescription() const;

  // Internal: for the runtime and the tools, which include runtime/model/model_parts.h.
  explicit Model(std::unique_ptr<const ModelParts> parts);
  const ModelParts& parts() const { return *parts_; }

 private:
  std::unique_ptr<const ModelParts> parts_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_H_
