#include "runtime/model.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "encoder/cpu/backend.h"
#include "encoder/cpu/kernels/instruction_set.h"
#include "encoder/encoder_weights.h"
#include "encoder/libtorch/backend.h"
#include "encoder/model_file/model_archive.h"
#include "encoder/model_file/weights.h"
#include "runtime/model/model_parts.h"
#include "runtime/snapshot/sha256.h"

namespace runnel {

namespace {

// Tensors of this name may be in a model file. Nothing uses them.
constexpr char kAttentionDecoder[] = "attention_decoder.";

// What a model trained on whole utterances recommends, once the options let it stream: as
// models/convert writes it.
constexpr StreamingSetting kSubstituteSetting = {32, 128};

// The configuration as the options change it.
ModelConfig WithOptions(ModelConfig config, const ModelOptions& options, const std::string& path) {
  EncoderConfig& encoder = config.encoder;
  if (options.dynamic_chunk_convolution) {
    if (!encoder.convolution || encoder.convolution->type != ConvolutionType::kSymmetric) {
      throw std::invalid_argument(path +
                                  ": dynamic chunk convolution was asked for, expected a "
                                  "model whose convolution is symmetric");
    }
    encoder.convolution->type = ConvolutionType::kDynamicChunk;
  }
  if (options.running_normalization) {
    if (encoder.normalization != Normalization::kUtterance) {
      throw std::invalid_argument(path +
                                  ": running normalisation was asked for, expected a model "
                                  "whose features are normalised over the utterance");
    }
    encoder.normalization = Normalization::kRunning;
  }
  StreamingConfig& streaming = config.streaming;
  if ((options.dynamic_chunk_convolution || options.running_normalization) &&
      streaming.chunk_size == -1 && encoder.NeedsWholeUtterance() == nullptr) {
    streaming.only.clear();
    streaming.chunk_size = std::max(kSubstituteSetting.chunk_size, streaming.min_chunk_size);
    streaming.left_context =
        std::min(kSubstituteSetting.left_context,
                 streaming.max_left_context.value_or(kSubstituteSetting.left_context));
  }
  return config;
}

// How the CPU backend computes; none for the LibTorch backend. Throws std::invalid_argument for
// options that exclude each other.
std::optional<cpu::Options> CpuOptionsOf(const ModelOptions& options) {
  const bool float64 = options.precision == Precision::kFloat64;
  const bool cpu =
      options.backend == Backend::kCpu || (options.backend == Backend::kDefault && !float64 &&
                                           kernels::UsedInstructionSet().has_matmul);
  if (cpu && float64) {
    throw std::invalid_argument("float64 is computed by the LibTorch backend only");
  }
  if (!cpu) {
    if (options.bfloat16_cache || !(float64 || options.precision == Precision::kFloat32)) {
      throw std::invalid_argument(
          "the LibTorch backend computes float32 and float64, with caches alike; bfloat16 and int8 "
          "need the CPU backend");
    }
    return std::nullopt;
  }
  cpu::Options cpu_options;
  cpu_options.bfloat16_cache = options.bfloat16_cache;
  if (options.precision == Precision::kBfloat16) {
    cpu_options.matmul_type = kernels::MatmulType::kBfloat16;
  } else if (options.precision == Precision::kInt8) {
    cpu_options.matmul_type = kernels::MatmulType::kInt8;
  }
  return cpu_options;
}

std::string Fingerprint(const ModelArchive& archive, const ModelOptions& options,
                        bool by_cpu_backend) {
  Sha256 hash;
  hash.AddText("runnel model").AddText(archive.config_json).AddText(archive.units_text);
  hash.AddNumber(static_cast<int64_t>(archive.tensors.size()));
  for (const auto& [name, tensor] : archive.tensors) {
    const at::Tensor values = tensor.detach().cpu().contiguous();
    hash.AddText(name).AddText(c10::toString(values.scalar_type())).AddNumber(values.dim());
    for (const int64_t size : values.sizes()) hash.AddNumber(size);
    hash.Add(values.data_ptr(), values.nbytes());
  }
  hash.AddNumber(static_cast<int64_t>(options.precision))
      .AddNumber(0)  // a former option; fingerprints of models stay as they were
      .AddNumber(by_cpu_backend ? 1 : 0)
      .AddNumber(options.bfloat16_cache ? 1 : 0)
      .AddNumber(options.dynamic_chunk_convolution ? 1 : 0)
      .AddNumber(options.running_normalization ? 1 : 0);
  return hash.Fingerprint();
}

// Computes chunks of silence, so that the matmuls for a chunk's number of rows are prepared and the
// weights are in memory before the first audio comes.
void WarmUp(const Encoder& encoder, const CtcHead* ctc_head, const Transducer* transducer,
            const StreamingConfig& streaming) {
  constexpr int64_t kMaxChunkSize = 64;
  constexpr int kChunks = 2;
  const int64_t chunk_size =
      streaming.chunk_size < 0 ? kMaxChunkSize : std::min(streaming.chunk_size, kMaxChunkSize);
  EncoderState state = encoder.InitialState();
  const bool whole = encoder.config().NeedsWholeUtterance() != nullptr;
  for (int i = 0; i < (whole ? 1 : kChunks); ++i) {
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
}

}  // namespace

Model::Model(std::unique_ptr<const ModelParts> parts) : parts_(std::move(parts)) {}
Model::~Model() = default;

std::shared_ptr<const Model> Model::Load(const std::string& path, const ModelOptions& options) {
  ModelArchive archive = ReadModelArchive(path, options.units_file);
  const ModelConfig config =
      WithOptions(ParseModelConfig(archive.config_json, path), options, path);
  TokenTable tokens(archive.units_text, config.vocabulary.vocab_size, config.vocabulary.blank_id,
                    path + ": units.txt");
  const std::optional<cpu::Options> cpu_options = CpuOptionsOf(options);
  const auto tensor_options =
      at::TensorOptions(options.precision == Precision::kFloat64 ? at::kDouble : at::kFloat);
  std::string fingerprint = Fingerprint(archive, options, cpu_options.has_value());
  Weights weights(std::move(archive.tensors), tensor_options, path);
  Encoder encoder(config.encoder, &weights,
                  cpu_options ? MakeCpuBackend(config.encoder, &weights, *cpu_options)
                              : MakeLibTorchBackend(config.encoder, &weights));
  const int64_t model_dim = config.encoder.model_dim;
  std::unique_ptr<const CtcHead> ctc_head;
  if (config.has_ctc) {
    ctc_head = encoder.backend().MakeCtcHead(
        BindCtcHead(model_dim, config.vocabulary.vocab_size, &weights));
  }
  std::unique_ptr<const Transducer> transducer;
  if (config.transducer) {
    transducer = std::make_unique<const Transducer>(*config.transducer, model_dim,
                                                    encoder.backend(), &weights);
  }
  std::unique_ptr<const LanguagePrompt> prompt;
  if (config.prompt) {
    prompt = std::make_unique<const LanguagePrompt>(*config.prompt, model_dim, encoder.backend(),
                                                    &weights);
  }
  weights.TakeAll(kAttentionDecoder);
  weights.CheckAllTaken();
  if (cpu_options) WarmUp(encoder, ctc_head.get(), transducer.get(), config.streaming);
  std::shared_ptr<const FrameExtractor> frame_extractor = MakeFrameExtractor(config.features);
  return std::shared_ptr<const Model>(new Model(std::make_unique<const ModelParts>(ModelParts{
      cpu_options, config, std::move(tokens), std::move(frame_extractor), std::move(encoder),
      std::move(ctc_head), std::move(transducer), std::move(prompt), std::move(fingerprint)})));
}

const std::string& Model::name() const { return parts_->config.name; }
const StreamingConfig& Model::streaming() const { return parts_->config.streaming; }
const TokenTable& Model::tokens() const { return parts_->tokens; }
std::vector<std::string> Model::languages() const {
  std::vector<std::string> languages;
  if (!parts_->config.prompt) return languages;
  for (const std::string& language : parts_->config.prompt->languages) {
    if (!language.empty()) languages.push_back(language);
  }
  return languages;
}

const std::string& Model::fingerprint() const { return parts_->fingerprint; }

bool Model::is_bit_reproducible() const { return parts_->cpu_options.has_value(); }

std::string Model::ComputeDescription() const {
  if (!is_bit_reproducible()) {
    return std::string(parts_->encoder.data_type() == DataType::kFloat64 ? "float64" : "float32") +
           " by LibTorch";
  }
  const cpu::Options& options = *parts_->cpu_options;
  const char* type = options.matmul_type == kernels::MatmulType::kFloat32    ? "float32"
                     : options.matmul_type == kernels::MatmulType::kBfloat16 ? "bfloat16"
                                                                             : "int8";
  return std::string(type) + " matmuls, " + (options.bfloat16_cache ? "bfloat16" : "float32") +
         " caches, " + kernels::UsedInstructionSet().description;
}

int Model::sample_rate_hz() const {
  return static_cast<int>(parts_->frame_extractor->geometry().sample_frequency);
}

int Model::feature_dim() const { return parts_->frame_extractor->dim(); }

double Model::feature_frame_ms() const {
  const FrameGeometry& geometry = parts_->frame_extractor->geometry();
  return 1000.0 * geometry.shift / static_cast<double>(geometry.sample_frequency);
}

double Model::encoder_frame_ms() const {
  return feature_frame_ms() * static_cast<double>(parts_->encoder.subsampling().rate());
}

}  // namespace runnel
