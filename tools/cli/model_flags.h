// The flags of the tools that run a model, and the model they name.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_MODEL_FLAGS_H_
#define RUNNEL_TOOLS_MODEL_FLAGS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model.h"

namespace runnel {

// For ToolInfo::source_files: where --model, --units, --precision, --backend, --device,
// --cache_precision,
// --dynamic_chunk_convolution and --running_normalization are defined.
extern const char* const kModelFlagsSource;

// Loads the model that the flags name. Throws std::invalid_argument when --model is missing, and as
// Model::Load does. In another precision than the flag's: for tools that compute in several.
std::shared_ptr<const Model> LoadModel();
std::shared_ptr<const Model> LoadModel(Precision precision);

// --precision, if given, and its name.
std::optional<Precision> PrecisionFromFlag();
std::string NameOf(Precision precision);

// Whether the flags leave the model as its file's own TorchScript computes it.
bool IsAsInFile();

// --model.
const std::string& ModelFile();

// The files that the flags name, for CheckOutputIsNoInput.
std::vector<std::string> ModelInputFiles();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_MODEL_FLAGS_H_
