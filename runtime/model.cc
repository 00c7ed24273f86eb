#include "runtime/model.h"

#include <ATen/core/Tensor.h>

#include <stdexcept>
#include <utility>

#include "encoder/encoder.h"
#include "encoder/model_archive.h"
#include "encoder/weights.h"
#include "frontend/fbank.h"
#include "runtime/ctc_head.h"

namespace runnel {

struct Model::Parts {
  ModelConfig config;
  TokenTable tokens;
  std::shared_ptr<const Fbank> fbank;
  Encoder encoder;
  CtcHead ctc_head;
};

Model::Model(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Model::~Model() = default;

std::shared_ptr<const Model> Model::Load(const std::string& path, const ModelOptions& options) {
  ModelArchive archive = ReadModelArchive(path);
  const ModelConfig config = ParseModelConfig(archive.config_json, path);
  TokenTable tokens(archive.units_text, config.ctc.vocab_size, config.ctc.blank_id,
                    path + ": units.txt");
  const at::ScalarType dtype = options.precision == Precision::kFloat64 ? at::kDouble : at::kFloat;
  Weights weights(std::move(archive.tensors), dtype, path);
  Encoder encoder(config.encoder, &weights);
  CtcHead ctc_head(&weights, config.encoder.model_dim, config.ctc.vocab_size);
  weights.CheckAllTaken();
  auto fbank = std::make_shared<const Fbank>(config.features.fbank);
  // Not make_shared: the constructor is private.
  return std::shared_ptr<const Model>(new Model(std::make_unique<Parts>(Parts{
      config, std::move(tokens), std::move(fbank), std::move(encoder), std::move(ctc_head)})));
}

const ModelConfig& Model::config() const { return parts_->config; }
const TokenTable& Model::tokens() const { return parts_->tokens; }
const Encoder& Model::encoder() const { return parts_->encoder; }
const CtcHead& Model::ctc_head() const { return parts_->ctc_head; }
std::shared_ptr<const Fbank> Model::fbank() const { return parts_->fbank; }

int Model::sample_rate_hz() const {
  return static_cast<int>(parts_->config.features.fbank.sample_frequency);
}

double Model::encoder_frame_ms() const {
  return static_cast<double>(parts_->config.features.fbank.frame_shift_ms) *
         Encoder::subsampling_rate();
}

}  // namespace runnel
