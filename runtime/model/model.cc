#include "runtime/model.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "encoder/cpu/kernels/instruction_set.h"
#include "runtime/model/build_model.h"
#include "runtime/model/model_parts.h"

namespace runnel {

Model::Model(std::unique_ptr<const ModelParts> parts) : parts_(std::move(parts)) {}
Model::~Model() = default;

std::shared_ptr<const Model> Model::Load(const std::string& path, const ModelOptions& options) {
  return std::shared_ptr<const Model>(
      new Model(BuildModel(ReadModel(path, options.units_file), options)));
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
  const std::string precision = PrecisionName(parts_->precision);
  const std::string note = parts_->note.empty() ? "" : ", " + parts_->note;
  if (!is_bit_reproducible()) return precision + " by LibTorch" + note;
  return precision + " matmuls, " + (parts_->cpu_options->bfloat16_cache ? "bfloat16" : "float32") +
         " caches, " + kernels::UsedInstructionSet().name + note;
}

int Model::sample_rate_hz() const {
  return static_cast<int>(parts_->frame_extractor->geometry().sample_frequency);
}

int Model::feature_dim() const { return parts_->frame_extractor->dim(); }

double Model::feature_frame_ms() const { return parts_->frame_extractor->geometry().shift_ms(); }

double Model::encoder_frame_ms() const {
  return feature_frame_ms() * static_cast<double>(parts_->encoder.subsampling().rate());
}

}  // namespace runnel
