#include "runtime/model/pack_model.h"

#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/model/build_model.h"
#include "runtime/model/packed_file.h"

namespace runnel {

uint64_t PackModel(const std::string& path, Precision precision, const std::string& units_file,
                   const std::string& output) {
  if (precision == Precision::kFloat64 || precision == Precision::kDefault) {
    throw std::invalid_argument("precision of packed weights is " +
                                std::string(PrecisionName(precision)) +
                                ", expected float32, bfloat16 or int8");
  }
  PackedFile file = ReadModel(path, units_file);
  if (!file.matrices.empty()) {
    throw std::runtime_error(path +
                             ": holds packed weights, expected the model file that they were "
                             "packed from");
  }
  ModelOptions options;
  options.precision = precision;
  options.backend = Backend::kCpu;
  PackedWeights packed;
  const std::unique_ptr<const ModelParts> model = BuildModel(file, options, &packed);
  file.precision = precision;
  file.matrices = std::move(packed.matrices);
  for (auto& [name, tensor] : file.archive.tensors) {
    if (packed.names.count(name) > 0) tensor = tensor.detach().to(at::kMeta);
  }
  return WritePackedFile(file, output);
}

}  // namespace runnel
