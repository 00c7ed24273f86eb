// Writes a model file that holds packed weights.
#ifndef RUNNEL_RUNTIME_MODEL_PACK_MODEL_H_
#define RUNNEL_RUNTIME_MODEL_PACK_MODEL_H_

#include <cstdint>
#include <string>

#include "runtime/model.h"

namespace runnel {

// Packs the weights of the model file at `path` for the CPU backend and writes them to `output`.
// `precision` is kFloat32, kBfloat16 or kInt8. `units_file` is as in ModelOptions. Results with the
// new file are those of Model::Load with `precision`, to the bit. Returns the size of the new file
// in bytes. Throws as Model::Load does, and std::runtime_error for a file that holds packed weights
// already or an output that cannot be written.
uint64_t PackModel(const std::string& path, Precision precision, const std::string& units_file,
                   const std::string& output);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_PACK_MODEL_H_
