// Writes a model file that holds packed weights.
#ifndef RUNNEL_RUNTIME_MODEL_PACK_MODEL_H_
#define RUNNEL_RUNTIME_MODEL_PACK_MODEL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/model/four_bit_layers.h"
#include "runtime/model/model_parts.h"

namespace runnel {

// Packs the weights of the model file at `path` for the CPU backend and writes them to `output`.
// `precision` is kFloat32, kBfloat16, kInt8 or kInt4, with which all layers of the encoder have
// weights of four bits. `units_file` is as in ModelOptions. Results with the new file are those of
// Model::Load with `precision`, to the bit, where Load takes it. Returns the size of the new file
// in bytes. Throws as Model::Load does, and std::runtime_error for a file that holds packed weights
// already or an output that cannot be written.
uint64_t PackModel(const std::string& path, Precision precision, const std::string& units_file,
                   const std::string& output);

// Layers are chosen by what their rounding changes on speech.
struct FourBitOptions {
  // Reads recordings as EncoderOutput takes them.
  std::function<std::vector<std::vector<float>>(const ModelParts& model)> read_speech;
  double max_error;                                         // of LayersOfEightBits
  std::function<void(int layer, int num_layers)> on_layer;  // before a layer is measured
};

struct FourBitFile {
  uint64_t size;                      // in bytes
  std::vector<LayerError> layers;     // all of the encoder, in order
  std::vector<int> eight_bit_layers;  // ascending
};

// The same with kInt4, except that some layers keep eight bits. Also throws std::runtime_error
// where the speech gives no encoder frame.
FourBitFile PackInFourBits(const std::string& path, const std::string& units_file,
                           const std::string& output, const FourBitOptions& options);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_PACK_MODEL_H_
