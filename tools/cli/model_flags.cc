#include "tools/cli/model_flags.h"

#include <gflags/gflags.h>

#include <optional>
#include <stdexcept>

#include "runtime/model/packed_file.h"
#include "runtime/options/model_options.h"
#include "tools/cli/command_line.h"
#include "tools/cli/option_flags.h"

DEFINE_string(model, "", "Model file (models/README.md), or WeNet's final.zip with --units.");

namespace runnel {
namespace {

const OptionFlags<ModelOption> model_flags(ModelOptionTable(), OptionUser::kModelTool, __FILE__);

ModelOptions OptionsFromFlags() {
  ModelOptions options;
  model_flags.ForEach(
      [&](const ModelOption& option, const OptionValue& value) { Set(option, value, &options); });
  return options;
}

}  // namespace

const FlagSource kModelFlagsSource = {__FILE__, "Flags of the model"};

std::optional<Precision> PrecisionFromFlag() {
  const Precision precision = OptionsFromFlags().precision;
  return precision == Precision::kDefault ? std::nullopt : std::make_optional(precision);
}

std::shared_ptr<const Model> LoadModel() { return LoadModel(OptionsFromFlags().precision); }

std::shared_ptr<const Model> LoadModel(Precision precision) {
  RequireFlag("model", kModelFile);
  return Model::Load(FLAGS_model, ModelOptionsFromFlags(precision));
}

ModelOptions ModelOptionsFromFlags(Precision precision) {
  ModelOptions options = OptionsFromFlags();
  options.precision = precision;
  return options;
}

bool IsAsInFile() {
  const ModelOptions options = OptionsFromFlags();
  return options.units_file.empty() && !options.dynamic_chunk_convolution &&
         !options.running_normalization;
}

void RequireTorchScript(const std::string& purpose) {
  if (!IsPackedFile(FLAGS_model)) return;
  throw std::runtime_error(FLAGS_model + ": holds packed weights and no TorchScript " + purpose +
                           ", expected the model file that they were packed from");
}

const std::string& ModelFile() { return FLAGS_model; }

std::string ModelUnitsFile() { return OptionsFromFlags().units_file; }

std::vector<std::string> ModelInputFiles() { return {FLAGS_model, ModelUnitsFile()}; }

}  // namespace runnel
