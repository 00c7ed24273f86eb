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
  PackedFile result;
  result.archive.config_json = file.archive.config_json;
  result.archive.units_text = file.archive.units_text;
  result.archive.note = file.archive.note;
  result.digest = file.digest;
  result.precision = precision;
  PackedWeights packed;
  const std::unique_ptr<const ModelParts> model = BuildModel(std::move(file), options, &packed);
  result.archive.tensors = std::move(packed.tensors);
  result.matrices = std::move(packed.matrices);
  return WritePackedFile(result, output);
}

}  // namespace runnel
