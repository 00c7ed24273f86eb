// Makes a model from the contents of its file.
#ifndef RUNNEL_RUNTIME_MODEL_BUILD_MODEL_H_
#define RUNNEL_RUNTIME_MODEL_BUILD_MODEL_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "encoder/cpu/packer.h"
#include "encoder/model_file/tensor.h"
#include "runtime/model.h"
#include "runtime/model/model_parts.h"
#include "runtime/model/packed_file.h"

namespace runnel {

// What the CPU backend packed.
struct PackedWeights {
  std::unique_ptr<const ModelParts> model;  // has the memory of the matrices
  std::vector<cpu::NamedMatrix> matrices;   // in the order in which the modules pack them
  // All tensors of the file. Those that are in the matrices have no values, so that their memory is
  // free once they are packed.
  std::map<std::string, Tensor> tensors;
};

// Reads a model file of any kind. `matrices` are empty for one that holds plain weights.
PackedFile ReadModel(const std::string& path, const std::string& units_file);

// Throws as Model::Load does.
std::unique_ptr<const ModelParts> BuildModel(PackedFile file, const ModelOptions& options);

// Packs the weights of a file that holds plain ones. `four_bits` as in cpu::WeightPacker. Throws as
// BuildModel does.
PackedWeights PackWeights(PackedFile file, Precision precision,
                          const cpu::FourBits* four_bits = nullptr);

// The model of a file in float32, whose matrices the packer packs. Throws as BuildModel does.
std::unique_ptr<const ModelParts> BuildFloat32(PackedFile file,
                                               const std::shared_ptr<cpu::Packer>& packer);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_BUILD_MODEL_H_
