// The seam between the schedule of an encoder and how its numbers are computed.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_ENCODER_CORE_H_
#define RUNNEL_ENCODER_ENCODER_CORE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/fast/fast_layer_state.h"
#include "encoder/fast/fast_options.h"
#include "encoder/layer_state.h"
#include "encoder/subsampling_geometry.h"
#include "encoder/weights.h"

namespace runnel {

// What the layers remember of one stream, layer 0 first, in the way of the core that made it.
using LayerStates = std::variant<std::vector<LayerState>, std::vector<FastLayerState>>;

// Called with "subsampling", "layer 0", ..., "after_norm" and the rows at that point, for comparing
// two ways of computing the same frames layer by layer.
using LayerObserver = std::function<void(const std::string& name, const at::Tensor& rows)>;

// One stream's part of a step: the encoder frames `wanted` of it, at least one.
struct CoreSegment {
  // Normalised feature frames (n, input_dim), contiguous, from `first_frame` of the stream on: all
  // that the wanted frames read.
  at::Tensor features;
  int64_t first_frame;
  FrameRange wanted;
  std::optional<int64_t> num_frames;  // where the stream ends
  int64_t left_context;               // encoder frames of keys and values to keep, -1: all
  std::optional<ChunkMask> mask;      // a whole utterance computed under a chunk mask
  LayerStates* layers;                // advanced

  int64_t num_rows() const { return wanted.end - wanted.begin; }
};

// Subsampling, layers and the last norm. Const after construction: Forward may run in several
// threads at once on different streams.
class EncoderCore {
 public:
  virtual ~EncoderCore() = default;

  // Of a stream that has heard nothing.
  virtual LayerStates InitialLayers() const = 0;

  // (total_rows, model_dim): the rows of all segments, in their order; at least one segment.
  virtual at::Tensor Forward(const std::vector<CoreSegment>& segments,
                             const LayerObserver& observer) const = 0;
};

// On LibTorch's operations, in the precision of the weights: the reference.
std::unique_ptr<EncoderCore> MakeLibTorchCore(const EncoderConfig& config, Weights* weights);

// On the kernels. Throws std::runtime_error where this build has none.
std::unique_ptr<EncoderCore> MakeFastCore(const EncoderConfig& config, Weights* weights,
                                          const FastOptions& options);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ENCODER_CORE_H_
