#include "runtime/model/build_model.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/backend.h"
#include "encoder/cpu/kernels/instruction_set.h"
#include "encoder/cpu/packer.h"
#include "encoder/encoder_weights.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/weights.h"
#include "encoder/position/distances.h"
#include "runtime/model/reference_component.h"
#include "runtime/options/model_options.h"
#include "runtime/options/option_error.h"
#include "runtime/snapshot/sha256.h"

namespace runnel {
namespace {

// Tensors of this name may be in a file of version 2. Nothing uses them.
constexpr char kAttentionDecoder[] = "attention_decoder.";

// What a model trained on whole utterances recommends, once the options let it stream: as
// models/convert writes it.
constexpr StreamingSetting kSubstituteSetting = {32, 128};

// The configuration as the options change it.
ModelConfig WithOptions(ModelConfig config, const ModelOptions& options, const std::string& path) {
  EncoderConfig& encoder = config.encoder;
  if (options.dynamic_chunk_convolution) {
    const ConvolutionType* type = encoder.convolution_type();
    if (type == nullptr || *type != ConvolutionType::kSymmetric) {
      throw std::invalid_argument(path +
                                  ": dynamic chunk convolution was asked for, expected a "
                                  "model whose convolution is symmetric");
    }
    (encoder.convolution ? encoder.convolution->type : encoder.branches->type) =
        ConvolutionType::kDynamicChunk;
  }
  if (options.running_normalization) {
    if (encoder.normalization != Normalization::kUtterance) {
      throw std::invalid_argument(path +
                                  ": running normalisation was asked for, expected a model "
                                  "whose features are normalised over the utterance");
    }
    encoder.normalization = Normalization::kRunning;
  }
  if (!options.dynamic_chunk_convolution && !options.running_normalization) return config;
  if (const char* reason = encoder.NeedsWholeUtterance()) {
    const std::string chosen =
        options.dynamic_chunk_convolution ? "dynamic chunk convolution" : "running normalisation";
    throw std::invalid_argument(path + ": " + chosen +
                                " was asked for, but the model still needs the whole utterance: " +
                                reason + "; expected a model that can stream with it");
  }
  StreamingConfig& streaming = config.streaming;
  if (streaming.chunk_size == -1) {
    streaming.only.clear();
    const int64_t multiple = encoder.ChunkMultiple();
    const int64_t chunk = std::max(kSubstituteSetting.chunk_size, streaming.min_chunk_size);
    const int64_t left =
        std::min(kSubstituteSetting.left_context,
                 streaming.max_left_context.value_or(kSubstituteSetting.left_context));
    streaming.chunk_size = (chunk + multiple - 1) / multiple * multiple;
    streaming.left_context = left / multiple * multiple;
  }
  return config;
}

// How the CPU backend computes; none for the LibTorch backend. Throws std::invalid_argument for
// options that exclude each other.
std::optional<cpu::Options> CpuOptionsOf(const ModelOptions& options) {
  const bool float64 = options.precision == Precision::kFloat64;
  const bool cpu =
      options.backend == Backend::kCpu || (options.backend == Backend::kDefault && !float64);
  if (cpu && float64) {
    throw OptionError(OptionName("precision", "float64") + " needs " +
                      OptionName("backend", "libtorch"));
  }
  if (!cpu) {
    const std::string chosen =
        float64 ? OptionName("precision", "float64") : OptionName("backend", "libtorch");
    if (options.step_threads > 1) {
      throw OptionError(OptionName("step_threads") + " is " + std::to_string(options.step_threads) +
                        ", expected 1 with " + chosen);
    }
    if (options.bfloat16_cache) {
      throw OptionError(OptionName("bfloat16_cache", "true") + " cannot be given with " + chosen);
    }
    if (!float64 && options.precision != Precision::kFloat32) {
      throw OptionError(OptionName("backend", "libtorch") + " computes no " +
                        PrecisionName(options.precision) + ", expected float32 or float64");
    }
    return std::nullopt;
  }
  cpu::Options cpu_options;
  cpu_options.step_threads = options.step_threads;
  cpu_options.bfloat16_cache = options.bfloat16_cache;
  if (options.precision == Precision::kBfloat16) {
    cpu_options.matmul_type = kernels::MatmulType::kBfloat16;
  } else if (options.precision == Precision::kInt8 || options.precision == Precision::kInt4) {
    cpu_options.matmul_type = kernels::MatmulType::kInt8;
  }
  // As float32 they would be a quarter of a file with weights of four bits.
  if (options.precision == Precision::kInt4) cpu_options.position_type = kernels::MatmulType::kInt8;
  return cpu_options;
}

// Of the chunks or windows that the model recommends, once their left context is there; none where
// that has no limit.
std::optional<Distances> UsualDistances(const StreamingConfig& streaming) {
  if (const auto& window = streaming.window) {
    const int64_t size = window->left_context + window->chunk_size + window->right_context;
    return DistancesBetween(0, size, size);
  }
  const int64_t left_context = streaming.left_context;
  if (streaming.chunk_size < 0 || left_context < 0) return std::nullopt;
  return DistancesBetween(left_context, streaming.chunk_size, left_context + streaming.chunk_size);
}

// LibTorch's name of the type. Digests have it in them since LibTorch read the model files;
// snapshots and packed files name models by these digests.
const char* DigestNameOf(DataType type) {
  switch (type) {
    case DataType::kBool:
      return "Bool";
    case DataType::kUint8:
      return "Byte";
    case DataType::kInt8:
      return "Char";
    case DataType::kInt16:
      return "Short";
    case DataType::kInt32:
      return "Int";
    case DataType::kInt64:
      return "Long";
    case DataType::kFloat16:
      return "Half";
    case DataType::kBfloat16:
      return "BFloat16";
    case DataType::kFloat32:
      return "Float";
    case DataType::kFloat64:
      return "Double";
  }
  throw std::logic_error("a type of elements without a name");
}

// The digest of a model file's contents, whichever kind of file holds them.
std::string DigestOf(const ModelArchive& archive) {
  Sha256 hash;
  hash.AddText("runnel model").AddText(archive.config_json).AddText(archive.units_text);
  hash.AddNumber(static_cast<int64_t>(archive.tensors.size()));
  for (const auto& [name, tensor] : archive.tensors) {
    hash.AddText(name).AddText(DigestNameOf(tensor.type())).AddNumber(tensor.dim());
    for (const int64_t size : tensor.shape()) hash.AddNumber(size);
    hash.Add(tensor.data(), static_cast<size_t>(tensor.num_bytes()));
  }
  return hash.Fingerprint();
}

std::string Fingerprint(const std::string& digest, const ModelOptions& options,
                        bool by_cpu_backend) {
  return Sha256()
      .AddText(digest)
      .AddNumber(static_cast<int64_t>(options.precision))
      .AddNumber(by_cpu_backend ? 1 : 0)
      .AddNumber(options.bfloat16_cache ? 1 : 0)
      .AddNumber(options.dynamic_chunk_convolution ? 1 : 0)
      .AddNumber(options.running_normalization ? 1 : 0)
      .Fingerprint();
}

// Computes a chunk of silence, so that the weights and the memory of a step are there before the
// first audio comes.
void WarmUp(const Encoder& encoder, const CtcHead* ctc_head, const Transducer* transducer,
            const StreamingConfig& streaming) {
  constexpr int64_t kMaxChunkSize = 64;
  const int64_t multiple = encoder.config().ChunkMultiple();
  const int64_t chunk_size = streaming.chunk_size < 0
                                 ? kMaxChunkSize
                                 : std::min(streaming.chunk_size, kMaxChunkSize * multiple);
  EncoderState state = encoder.InitialState();
  const bool whole = streaming.chunk_size < 0 || encoder.config().NeedsWholeUtterance() != nullptr;
  const int64_t num_frames = encoder.FramesForChunk(state, chunk_size);
  const std::vector<float> silence(static_cast<size_t>(num_frames * encoder.config().input_dim));
  const EncoderOutput output =
      encoder.Step({{&state, silence.data(), {num_frames, whole}, streaming.left_context}});
  if (ctc_head != nullptr) ctc_head->LogProbs(output.rows.rows());
  if (transducer != nullptr) {
    const Matrix rows = transducer->ProjectEncoder(output.rows.rows());
    transducer->LogProbs({{rows.rows().Part(0, 1), transducer->Start().get()}});
  }
}

// Keeps what is taken for a packed file.
class RecordedWeights final : public Weights {
 public:
  // `taken`: null, or gets the tensors, matrices without their values.
  RecordedWeights(std::map<std::string, Tensor> tensors, DataType type, const std::string& source,
                  std::map<std::string, Tensor>* taken)
      : Weights(std::move(tensors), type, source), taken_(taken) {}

  Tensor Take(const std::string& name, const Shape& shape) override {
    Tensor tensor = Weights::Take(name, shape);
    if (taken_ != nullptr) {
      taken_->emplace(name, matrices().count(name) > 0 ? tensor.WithoutValues() : tensor);
    }
    return tensor;
  }

 private:
  std::map<std::string, Tensor>* const taken_;
};

bool ByLibTorch(const ModelOptions& options) {
  return options.backend == Backend::kLibTorch || options.precision == Precision::kFloat64;
}

// The options with the precision that the file has or, if it holds plain weights or LibTorch
// computes with them, the default.
ModelOptions WithPrecision(ModelOptions options, const PackedFile& file) {
  const bool plain = file.matrices.empty() || ByLibTorch(options);
  if (options.precision == Precision::kDefault) {
    options.precision = plain ? Precision::kFloat32 : file.precision;
  }
  if (file.matrices.empty() && options.precision == Precision::kInt4) {
    throw std::invalid_argument(file.archive.path +
                                ": got precision int4, which a file has from pack_model, expected "
                                "such a file");
  }
  if (!plain && options.precision != file.precision) {
    throw std::invalid_argument(file.archive.path + ": holds weights that are packed as " +
                                PrecisionName(file.precision) + ", got precision " +
                                PrecisionName(options.precision) + ", expected the same or none");
  }
  return options;
}

std::vector<int32_t> EndTokens(const TokenTable& tokens) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < tokens.size(); ++id) {
    if (tokens.IsEnd(id)) ids.push_back(id);
  }
  return ids;
}

// `packer`: of the CPU backend. `taken`: null, or gets the tensors of the file, matrices without
// their values.
std::unique_ptr<const ModelParts> Build(PackedFile file, const ModelOptions& options,
                                        const std::shared_ptr<cpu::Packer>& packer,
                                        std::map<std::string, Tensor>* taken) {
  const std::string path = file.archive.path;
  ModelConfig config = WithOptions(ParseModelConfig(file.archive.config_json, path), options, path);
  std::shared_ptr<const FrameExtractor> frame_extractor = MakeFrameExtractor(config.features);
  // A window has no statistics of the stream so far.
  const bool is_running = config.encoder.normalization == Normalization::kRunning;
  if (config.streaming.chunk_size == -1 && !is_running) {
    const int64_t rate = config.encoder.Geometry().rate();
    config.streaming.window =
        WindowFor(frame_extractor->geometry().shift_ms() * static_cast<double>(rate));
  }
  TokenTable tokens(file.archive.units_text, config.vocabulary.vocab_size,
                    config.vocabulary.blank_id, file.archive.units_name, config.token_kinds);
  std::optional<cpu::Options> cpu_options = CpuOptionsOf(options);
  if (cpu_options) cpu_options->usual_distances = UsualDistances(config.streaming);
  const DataType type =
      options.precision == Precision::kFloat64 ? DataType::kFloat64 : DataType::kFloat32;
  RecordedWeights weights(std::move(file.archive.tensors), type, path, taken);
  const std::unique_ptr<const EncoderBackend> backend =
      cpu_options ? MakeCpuBackend(config.encoder, &weights, *cpu_options, packer)
                  : MakeReferenceBackend(config.encoder, &weights);
  Encoder encoder(config.encoder, &weights, *backend);
  const int64_t model_dim = config.encoder.model_dim;
  std::unique_ptr<const CtcHead> ctc_head;
  if (config.has_ctc) {
    ctc_head = backend->MakeCtcHead(BindCtcHead(model_dim, config.vocabulary.vocab_size, &weights));
  }
  std::unique_ptr<const Transducer> transducer;
  if (config.transducer) {
    transducer = std::make_unique<const Transducer>(*config.transducer, model_dim, *backend,
                                                    &weights, EndTokens(tokens));
  }
  std::unique_ptr<const AttentionDecoder> attention_decoder;
  if (config.attention_decoder) {
    attention_decoder = std::make_unique<const AttentionDecoder>(*config.attention_decoder,
                                                                 model_dim, *backend, &weights);
  }
  std::unique_ptr<const LanguagePrompt> prompt;
  if (config.prompt) {
    prompt = std::make_unique<const LanguagePrompt>(*config.prompt, model_dim, *backend, &weights);
  }
  if (config.ignores_attention_decoder) {
    std::map<std::string, Tensor> ignored = weights.TakeAll(kAttentionDecoder);
    if (taken != nullptr) taken->merge(ignored);
  }
  weights.CheckAllTaken();
  if (packer) packer->CheckAllTaken();
  if (cpu_options) WarmUp(encoder, ctc_head.get(), transducer.get(), config.streaming);
  return std::make_unique<const ModelParts>(
      ModelParts{options.precision, cpu_options, config, tokens, tokens.WithSpecialTokens(),
                 std::move(frame_extractor), std::move(encoder), std::move(ctc_head),
                 std::move(transducer), std::move(attention_decoder), std::move(prompt),
                 Fingerprint(file.digest, options, cpu_options.has_value()), file.archive.note});
}

// The file with the values of its matrices in its tensors, as LibTorch needs them.
PackedFile Unpacked(PackedFile file) {
  std::map<std::string, Tensor> tensors = file.archive.tensors;
  ModelOptions options;
  options.precision = file.precision;
  options.backend = Backend::kCpu;
  Build(file, options,
        std::make_shared<cpu::UnpackingPacker>(file.matrices, file.archive.path, &tensors),
        nullptr);
  file.archive.tensors = std::move(tensors);
  file.matrices.clear();
  // Rounded weights are those of another model.
  file.digest = Sha256().AddText(file.digest).AddText(PrecisionName(file.precision)).Fingerprint();
  return file;
}

}  // namespace

PackedFile ReadModel(const std::string& path, const std::string& units_file) {
  if (IsPackedFile(path)) {
    if (units_file.empty()) return ReadPackedFile(path);
    throw std::runtime_error(path + ": holds its own units, expected no other (" + units_file +
                             ")");
  }
  PackedFile file;
  file.archive = ReadModelArchive(path, units_file);
  file.digest = DigestOf(file.archive);
  return file;
}

std::unique_ptr<const ModelParts> BuildModel(PackedFile file, const ModelOptions& given) {
  kernels::UsedInstructionSet();  // throws where its environment variable is wrong
  CheckRanges(given);
  const ModelOptions options = WithPrecision(given, file);
  std::shared_ptr<cpu::Packer> packer;
  if (!CpuOptionsOf(options)) {
    if (!file.matrices.empty()) file = Unpacked(std::move(file));
  } else if (!file.matrices.empty()) {
    packer = std::make_shared<cpu::StoredMatrices>(file.matrices, file.archive.path);
  } else {
    packer = std::make_shared<cpu::WeightPacker>();
  }
  return Build(std::move(file), options, packer, nullptr);
}

PackedWeights PackWeights(PackedFile file, Precision precision, const cpu::FourBits* four_bits) {
  kernels::UsedInstructionSet();  // as in BuildModel
  ModelOptions options;
  options.precision = precision;
  options.backend = Backend::kCpu;
  const auto recorder = std::make_shared<cpu::RecordingPacker>(four_bits);
  PackedWeights packed;
  packed.model = Build(std::move(file), options, recorder, &packed.tensors);
  packed.matrices = recorder->matrices();
  return packed;
}

std::unique_ptr<const ModelParts> BuildFloat32(PackedFile file,
                                               const std::shared_ptr<cpu::Packer>& packer) {
  kernels::UsedInstructionSet();  // as in BuildModel
  ModelOptions options;
  options.precision = Precision::kFloat32;
  options.backend = Backend::kCpu;
  return Build(std::move(file), options, packer, nullptr);
}

}  // namespace runnel
