// Which layers of an encoder have weights of four bits.
#ifndef RUNNEL_RUNTIME_MODEL_FOUR_BIT_LAYERS_H_
#define RUNNEL_RUNTIME_MODEL_FOUR_BIT_LAYERS_H_

#include <functional>
#include <string>
#include <vector>

#include "encoder/cpu/packer.h"
#include "encoder/encoder_config.h"
#include "runtime/model/model_parts.h"

namespace runnel {

// A layer, and how far the encoder's output moves when that layer alone has weights of four bits:
// the root of the mean square of the difference, divided by that of the output.
struct LayerError {
  int layer;
  double error;
};

// The root of the sum of the squares, which is about the error of all these layers together.
double JointError(const std::vector<LayerError>& layers);

// The layers that keep eight bits: those of the largest errors, as few as leave the others a joint
// error of at most `max_error`. In ascending order.
std::vector<int> LayersOfEightBits(std::vector<LayerError> layers, double max_error);

// The weights in eight bits, and in four bits where `has_four_bits` says so of a layer's index.
// Both hold the same matrices in the same order; those outside the layers are equal.
std::vector<cpu::NamedMatrix> Mixed(const std::vector<cpu::NamedMatrix>& eight_bits,
                                    const std::vector<cpu::NamedMatrix>& four_bits,
                                    const std::function<bool(int layer)>& has_four_bits);

// The encoder's output for some recordings, in the chunks that the model recommends. A recording is
// feature frames, (n, feature_dim) row-major.
std::vector<float> EncoderOutput(const ModelParts& model,
                                 const std::vector<std::vector<float>>& recordings);

// As in LayerError; infinite where it is no number. Both have the same number of values.
double RelativeError(const std::vector<float>& actual, const std::vector<float>& expected);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_FOUR_BIT_LAYERS_H_
