#include "runtime/model.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/kernels/instruction_set.h"
#include "encoder/model_archive.h"
#include "encoder/weights.h"
#include "frontend/frame_extractor.h"
#include "runtime/ctc_head.h"
#include "runtime/exit_gate.h"
#include "runtime/sha256.h"

namespace runnel {

namespace {

constexpr char kAttentionDecoder[] = "attention_decoder.";

// What a model recommends that was trained on whole utterances, once the options let it stream: as
// models/convert.py writes it.
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

// Throws std::invalid_argument for options that exclude each other.
EncoderOptions EncoderOptionsOf(const ModelOptions& options) {
  const bool float64 = options.precision == Precision::kFloat64;
  const bool cuda = options.device == Device::kCuda;
  if (cuda && !at::globalContext().hasCUDA()) {
    throw std::runtime_error(
        "device cuda was asked for, but this LibTorch has no CUDA or finds no GPU");
  }
  const bool fast =
      options.backend == Backend::kFast || (options.backend == Backend::kDefault && !float64 &&
                                            !cuda && kernels::UsedInstructionSet().has_products);
  if (fast && (float64 || cuda)) {
    throw std::invalid_argument(std::string(cuda ? "device cuda" : "float64") +
                                " is computed by the LibTorch backend only");
  }
  EncoderOptions encoder;
  if (!fast) {
    if (options.bfloat16_cache || !(float64 || options.precision == Precision::kFloat32)) {
      throw std::invalid_argument(
          "the LibTorch backend computes float32 and float64, with caches alike; bfloat16 and int8 "
          "need the fast backend");
    }
    return encoder;
  }
  encoder.backend = EncoderOptions::Backend::kFast;
  encoder.fast.bfloat16_cache = options.bfloat16_cache;
  if (options.precision == Precision::kBfloat16) {
    encoder.fast.precision = kernels::ProductPrecision::kBfloat16;
  } else if (options.precision == Precision::kInt8) {
    encoder.fast.precision = kernels::ProductPrecision::kInt8;
  }
  return encoder;
}

std::string Fingerprint(const ModelArchive& archive, const ModelOptions& options,
                        const EncoderOptions& encoder) {
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
      .AddNumber(static_cast<int64_t>(options.device))
      .AddNumber(encoder.backend == EncoderOptions::Backend::kFast ? 1 : 0)
      .AddNumber(options.bfloat16_cache ? 1 : 0)
      .AddNumber(options.dynamic_chunk_convolution ? 1 : 0)
      .AddNumber(options.running_normalization ? 1 : 0);
  return hash.Fingerprint();
}

// Computes chunks of silence, so that the products for a chunk's number of rows are made and the
// weights have been read before the first audio comes.
void WarmUp(const Encoder& encoder, const CtcHead& ctc_head, const StreamingConfig& streaming) {
  constexpr int64_t kMaxChunkSize = 64;
  constexpr int kChunks = 2;
  const int64_t chunk_size =
      streaming.chunk_size < 0 ? kMaxChunkSize : std::min(streaming.chunk_size, kMaxChunkSize);
  EncoderState state = encoder.InitialState(streaming.left_context);
  const bool whole = encoder.config().NeedsWholeUtterance() != nullptr;
  for (int i = 0; i < (whole ? 1 : kChunks); ++i) {
    const int64_t num_frames = encoder.FramesForChunk(state, chunk_size);
    const std::vector<float> silence(static_cast<size_t>(num_frames * encoder.config().input_dim));
    ctc_head.LogProbs(encoder.Step({{&state, silence.data(), {num_frames, whole}}}).rows);
  }
  ExitGate::CloseAtExit();
}

}  // namespace

struct Model::Parts {
  EncoderOptions encoder_options;
  ModelConfig config;
  TokenTable tokens;
  std::shared_ptr<const FrameExtractor> frame_extractor;
  Encoder encoder;
  CtcHead ctc_head;
  std::map<std::string, at::Tensor> attention_decoder;  // as in the file, for rescoring
  std::string fingerprint;
};

Model::Model(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Model::~Model() = default;

std::shared_ptr<const Model> Model::Load(const std::string& path, const ModelOptions& options) {
  ModelArchive archive = ReadModelArchive(path, options.units_file);
  const ModelConfig config =
      WithOptions(ParseModelConfig(archive.config_json, path), options, path);
  TokenTable tokens(archive.units_text, config.ctc.vocab_size, config.ctc.blank_id,
                    path + ": units.txt");
  const EncoderOptions encoder_options = EncoderOptionsOf(options);
  const auto tensor_options =
      at::TensorOptions(options.precision == Precision::kFloat64 ? at::kDouble : at::kFloat)
          .device(options.device == Device::kCuda ? at::kCUDA : at::kCPU);
  std::string fingerprint = Fingerprint(archive, options, encoder_options);
  Weights weights(std::move(archive.tensors), tensor_options, path);
  Encoder encoder(config.encoder, &weights, encoder_options);
  CtcHead ctc_head(&weights, config.encoder.model_dim, config.ctc.vocab_size, encoder_options);
  std::map<std::string, at::Tensor> attention_decoder = weights.TakeAll(kAttentionDecoder);
  weights.CheckAllTaken();
  if (encoder_options.backend == EncoderOptions::Backend::kFast) {
    WarmUp(encoder, ctc_head, config.streaming);
  }
  std::shared_ptr<const FrameExtractor> frame_extractor = MakeFrameExtractor(config.features);
  // Not make_shared: the constructor is private.
  return std::shared_ptr<const Model>(new Model(std::make_unique<Parts>(Parts{
      encoder_options, config, std::move(tokens), std::move(frame_extractor), std::move(encoder),
      std::move(ctc_head), std::move(attention_decoder), std::move(fingerprint)})));
}

const ModelConfig& Model::config() const { return parts_->config; }
const TokenTable& Model::tokens() const { return parts_->tokens; }
const Encoder& Model::encoder() const { return parts_->encoder; }
const CtcHead& Model::ctc_head() const { return parts_->ctc_head; }
std::shared_ptr<const FrameExtractor> Model::frame_extractor() const {
  return parts_->frame_extractor;
}

const std::string& Model::fingerprint() const { return parts_->fingerprint; }

bool Model::is_bit_reproducible() const {
  return parts_->encoder_options.backend == EncoderOptions::Backend::kFast;
}

std::string Model::ComputeDescription() const {
  if (!is_bit_reproducible()) {
    return std::string(parts_->encoder.dtype() == at::kDouble ? "float64" : "float32") +
           " by LibTorch";
  }
  const FastOptions& fast = parts_->encoder_options.fast;
  const char* precision = fast.precision == kernels::ProductPrecision::kFloat32    ? "float32"
                          : fast.precision == kernels::ProductPrecision::kBfloat16 ? "bfloat16"
                                                                                   : "int8";
  return std::string(precision) + " products, " + (fast.bfloat16_cache ? "bfloat16" : "float32") +
         " caches, " + kernels::UsedInstructionSet().description;
}

bool Model::has_attention_decoder() const { return !parts_->attention_decoder.empty(); }

int Model::sample_rate_hz() const {
  return static_cast<int>(parts_->frame_extractor->geometry().sample_frequency);
}

double Model::encoder_frame_ms() const {
  const FrameGeometry& geometry = parts_->frame_extractor->geometry();
  return 1000.0 * geometry.shift / static_cast<double>(geometry.sample_frequency) *
         static_cast<double>(parts_->encoder.subsampling().rate());
}

}  // namespace runnel
