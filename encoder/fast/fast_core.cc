// EncoderCore on the kernels.
#include <ATen/ops/empty.h>

#include <stdexcept>

#include "encoder/encoder_core.h"
#include "encoder/fast/fast_backend.h"
#include "encoder/fast/fast_subsampling.h"
#include "encoder/layer_stack.h"

namespace runnel {
namespace {

class FastCore final : public EncoderCore {
 public:
  FastCore(const EncoderConfig& config, Weights* weights, const FastOptions& options)
      : model_dim_(config.model_dim),
        embed_(weights, "encoder.embed", config, options),
        layers_(config, weights, options) {}

  LayerStates InitialLayers() const override { return layers_.InitialStates(); }

  at::Tensor Forward(const std::vector<CoreSegment>& segments,
                     const LayerObserver& observer) const override {
    int64_t total_rows = 0;
    for (const CoreSegment& segment : segments) total_rows += segment.num_rows();
    at::Tensor output = at::empty({total_rows, model_dim_}, at::kFloat);
    FastRows x{output.data_ptr<float>(), total_rows, model_dim_};
    embed_.Forward(segments, x);
    layers_.Forward(segments, observer, &x);
    return output;
  }

 private:
  int64_t model_dim_;
  FastSubsampling embed_;
  LayerStack<FastBackend> layers_;
};

}  // namespace

std::unique_ptr<EncoderCore> MakeFastCore(const EncoderConfig& config, Weights* weights,
                                          const FastOptions& options) {
  if (weights->dtype() != at::kFloat || weights->options().device() != at::kCPU) {
    throw std::invalid_argument("the fast backend computes on the CPU, from weights of float32");
  }
  return std::make_unique<FastCore>(config, weights, options);
}

}  // namespace runnel
