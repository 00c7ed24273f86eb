// EncoderCore on LibTorch's operations.
#include <ATen/ops/cat.h>

#include "encoder/encoder_core.h"
#include "encoder/layer_stack.h"
#include "encoder/libtorch_backend.h"
#include "encoder/subsampling.h"

namespace runnel {
namespace {

class LibTorchCore final : public EncoderCore {
 public:
  LibTorchCore(const EncoderConfig& config, Weights* weights)
      : embed_(weights, "encoder.embed", config), layers_(config, weights, {}) {}

  LayerStates InitialLayers() const override { return layers_.InitialStates(); }

  at::Tensor Forward(const std::vector<CoreSegment>& segments,
                     const LayerObserver& observer) const override {
    std::vector<at::Tensor> parts;
    for (const CoreSegment& segment : segments) {
      parts.push_back(embed_.Forward(segment.features, segment.first_frame, segment.wanted,
                                     segment.num_frames));
    }
    at::Tensor x = parts.size() == 1 ? parts[0] : at::cat(parts, 0);
    layers_.Forward(segments, observer, &x);
    return x;
  }

 private:
  Subsampling embed_;
  LayerStack<LibTorchBackend> layers_;
};

}  // namespace

std::unique_ptr<EncoderCore> MakeLibTorchCore(const EncoderConfig& config, Weights* weights) {
  return std::make_unique<LibTorchCore>(config, weights);
}

}  // namespace runnel
