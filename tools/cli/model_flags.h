// The flags of the tools that run a model, and the model they name.
#ifndef RUNNEL_TOOLS_CLI_MODEL_FLAGS_H_
#define RUNNEL_TOOLS_CLI_MODEL_FLAGS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "tools/cli/command_line.h"

namespace runnel {

// For ToolInfo::sources: the file that defines --model and the flags of the options of a model
// (runtime/options/model_options.h).
extern const FlagSource kModelFlagsSource;

// Loads the model that the flags name, in the precision of --precision or in the given one. Throws
// std::invalid_argument when --model is missing, and as Model::Load does.
std::shared_ptr<const Model> LoadModel();
std::shared_ptr<const Model> LoadModel(Precision precision);

// The options that the flags give, in the given precision.
ModelOptions ModelOptionsFromFlags(Precision precision);

// --precision, if it is not the default.
std::optional<Precision> PrecisionFromFlag();

// Whether Runnel, with these flags, computes the same as the TorchScript in the model file.
bool IsAsInFile();

// Throws std::runtime_error for a --model with packed weights, which holds no TorchScript.
// `purpose` completes the message: "to compare with".
void RequireTorchScript(const std::string& purpose);

// --model and --units.
const std::string& ModelFile();
std::string ModelUnitsFile();

// The files that the flags name, for CheckOutputIsNoInput.
std::vector<std::string> ModelInputFiles();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_MODEL_FLAGS_H_
