// The seam between the encoder, which is written once, and the backends that compute its modules:
// encoder/cpu (the default) and encoder/libtorch (the reference).
#ifndef RUNNEL_ENCODER_BACKEND_H_
#define RUNNEL_ENCODER_BACKEND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "encoder/ctc_head.h"
#include "encoder/layer_state.h"
#include "encoder/rows.h"

namespace runnel {

struct AttentionWeights;  // encoder_weights.h
struct BasicNormWeights;
struct BranchMergeWeights;
struct CgmlpWeights;
struct ConvolutionWeights;
struct FeedForwardWeights;
struct LayerNormWeights;
struct LinearWeights;
struct SubsamplingWeights;

// All modules are immutable: their methods may run in several threads at once, on different
// streams.

// Feature frames to encoder frames.
class SubsamplingModule {
 public:
  virtual ~SubsamplingModule() = default;

  // Fills x, the rows of all segments.
  virtual void Forward(const std::vector<Segment>& segments, Rows x) const = 0;
};

// Attention, convolution, cgMLP or feed-forward. Its output is added to rows: to those of its input
// for a residual connection, to zeros for a branch.
class ResidualModule {
 public:
  virtual ~ResidualModule() = default;

  // y = y + module(norm(x)), or y + module(x) for a module made without a norm. x and y: rows of
  // all segments, perhaps the same ones. Of a convolution with a stride, y has the rows of
  // Strided(segments, stride) (strides.h). Advances the state of each segment.
  virtual void Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const = 0;

  // Prepares the module's part of the state of a new stream, whose rings are empty and of the
  // backend's data type.
  virtual void Initialize(LayerState* /*state*/) const {}
};

// Joins the two branches of a Branchformer layer.
class BranchMergeModule {
 public:
  virtual ~BranchMergeModule() = default;

  // x = x + merge([attended, gated]), rows of all segments. Advances the state of each segment.
  virtual void Add(const std::vector<Segment>& segments, ConstRows attended, ConstRows gated,
                   Rows x) const = 0;

  // As in ResidualModule.
  virtual void Initialize(LayerState* /*state*/) const {}
};

class NormModule {
 public:
  virtual ~NormModule() = default;

  // x = norm(x), row by row.
  virtual void Normalize(Rows x) const = 0;
};

// y = x W^T + b.
class LinearModule {
 public:
  virtual ~LinearModule() = default;

  // x: (rows, input_dim), y: (rows, output_dim), of the backend's data type. Row by row.
  virtual void Forward(ConstRows x, Rows y) const = 0;
};

// Adds what the position scheme adds to the input of layer 0.
class InputPositionModule {
 public:
  virtual ~InputPositionModule() = default;

  // Row 0 of x is encoder frame `first_frame` of its stream.
  virtual void AddTo(int64_t first_frame, Rows x) const = 0;
};

// Runs the steps of an encoder.
class StepRunner {
 public:
  virtual ~StepRunner() = default;

  // In the calling thread or with others.
  virtual void Run(const std::function<void()>& step) const { step(); }
};

// Makes the modules of one model. Used from one thread, while the model loads; no module refers to
// it.
class EncoderBackend {
 public:
  virtual ~EncoderBackend() = default;

  // Of all rows between modules: kFloat32 or kFloat64.
  virtual DataType data_type() const = 0;

  virtual std::unique_ptr<const StepRunner> MakeStepRunner() const {
    return std::make_unique<StepRunner>();
  }
  // Null for a position scheme that adds nothing.
  virtual std::unique_ptr<const InputPositionModule> MakeInputPositions() const = 0;
  // `norm`: applied before the module; null where there is none.
  virtual std::unique_ptr<const SubsamplingModule> MakeSubsampling(
      const SubsamplingWeights& weights) const = 0;
  virtual std::unique_ptr<const ResidualModule> MakeAttention(
      int layer, const AttentionWeights& weights, const LayerNormWeights* norm) const = 0;
  virtual std::unique_ptr<const ResidualModule> MakeConvolution(
      const ConvolutionWeights& weights, const LayerNormWeights* norm) const = 0;
  virtual std::unique_ptr<const ResidualModule> MakeCgmlp(const CgmlpWeights& weights,
                                                          const LayerNormWeights* norm) const = 0;
  virtual std::unique_ptr<const BranchMergeModule> MakeBranchMerge(
      const BranchMergeWeights& weights) const = 0;
  virtual std::unique_ptr<const ResidualModule> MakeFeedForward(
      const FeedForwardWeights& weights, const LayerNormWeights* norm) const = 0;
  virtual std::unique_ptr<const NormModule> MakeNorm(const LayerNormWeights& weights) const = 0;
  virtual std::unique_ptr<const NormModule> MakeBasicNorm(
      const BasicNormWeights& weights) const = 0;
  virtual std::unique_ptr<const LinearModule> MakeLinear(const LinearWeights& weights) const = 0;
  virtual std::unique_ptr<const CtcHead> MakeCtcHead(const LinearWeights& weights) const = 0;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_BACKEND_H_
