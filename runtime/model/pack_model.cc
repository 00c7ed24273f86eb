#include "runtime/model/pack_model.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "encoder/encoder_weights.h"
#include "runtime/model/build_model.h"
#include "runtime/model/packed_file.h"
#include "runtime/snapshot/sha256.h"

namespace runnel {
namespace {

PackedFile ReadPlainModel(const std::string& path, const std::string& units_file) {
  PackedFile file = ReadModel(path, units_file);
  if (file.matrices.empty()) return file;
  throw std::runtime_error(path +
                           ": holds packed weights, expected the model file that they were "
                           "packed from");
}

// Without the tensors.
PackedFile WithoutWeights(const PackedFile& file, Precision precision) {
  PackedFile result;
  result.archive.path = file.archive.path;
  result.archive.config_json = file.archive.config_json;
  result.archive.units_text = file.archive.units_text;
  result.archive.units_name = file.archive.units_name;
  result.archive.note = file.archive.note;
  result.digest = file.digest;
  result.precision = precision;
  return result;
}

// What a layer multiplies its frames with. The projection of positions is computed once per
// distance, so that four bits would save no time there.
bool IsMatmulOfLayer(const std::string& name) {
  return name.rfind(kEncoderLayers, 0) == 0 && name.find(".linear_pos.") == std::string::npos;
}

// A model can be packed in four bits in several ways, which are different models.
uint64_t Write(PackedFile file, const std::string& output) {
  if (file.precision == Precision::kInt4) {
    Sha256 hash;
    hash.AddText(file.digest);
    for (const auto& [name, matrix] : file.matrices) {
      if (matrix.format == kernels::WeightFormat::kFourBits) {
        hash.AddText(name).Add(matrix.values.data(), matrix.values.size());
      }
    }
    file.digest = hash.Fingerprint();
  }
  return WritePackedFile(file, output);
}

}  // namespace

uint64_t PackModel(const std::string& path, Precision precision, const std::string& units_file,
                   const std::string& output) {
  if (precision == Precision::kFloat64 || precision == Precision::kDefault) {
    throw std::invalid_argument("precision of packed weights is " +
                                std::string(PrecisionName(precision)) +
                                ", expected float32, bfloat16, int8 or int4");
  }
  PackedFile file = ReadPlainModel(path, units_file);
  PackedFile result = WithoutWeights(file, precision);
  const cpu::FourBits four_bits{IsMatmulOfLayer, {}};
  PackedWeights packed =
      PackWeights(std::move(file), precision, precision == Precision::kInt4 ? &four_bits : nullptr);
  result.archive.tensors = std::move(packed.tensors);
  result.matrices = std::move(packed.matrices);
  return Write(std::move(result), output);
}

FourBitFile PackInFourBits(const std::string& path, const std::string& units_file,
                           const std::string& output, const FourBitOptions& options) {
  PackedFile file = ReadPlainModel(path, units_file);
  PackedFile result = WithoutWeights(file, Precision::kInt4);
  const PackedWeights eight_bits = PackWeights(std::move(file), Precision::kInt4);
  const auto speech = options.read_speech(*eight_bits.model);
  const std::vector<float> expected = EncoderOutput(*eight_bits.model, speech);
  if (expected.empty()) {
    throw std::runtime_error("the speech gives no encoder frame, expected longer recordings");
  }
  cpu::FourBits form{IsMatmulOfLayer, {}};
  const auto observed =
      BuildFloat32(ReadPlainModel(path, units_file), std::make_shared<cpu::ObservingPacker>(&form));
  // Without the silence with which a model warms up.
  for (auto& [name, moments] : form.moments) moments = kernels::InputMoments(moments.dim());
  EncoderOutput(*observed, speech);
  const PackedWeights four_bits =
      PackWeights(ReadPlainModel(path, units_file), Precision::kInt4, &form);
  result.archive.tensors = eight_bits.tensors;
  FourBitFile written;
  const int num_layers = eight_bits.model->config.encoder.num_layers;
  for (int layer = 0; layer < num_layers; ++layer) {
    options.on_layer(layer, num_layers);
    result.matrices = Mixed(eight_bits.matrices, four_bits.matrices,
                            [layer](int other) { return other == layer; });
    const auto model = BuildModel(result, {});
    written.layers.push_back({layer, RelativeError(EncoderOutput(*model, speech), expected)});
  }
  written.eight_bit_layers = LayersOfEightBits(written.layers, options.max_error);
  const std::vector<int>& kept = written.eight_bit_layers;
  result.matrices = Mixed(eight_bits.matrices, four_bits.matrices, [&](int layer) {
    return !std::binary_search(kept.begin(), kept.end(), layer);
  });
  written.size = Write(std::move(result), output);
  return written;
}

}  // namespace runnel
