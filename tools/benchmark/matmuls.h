// The matrix multiplications (matmuls) of one chunk, and the number of operations they take.
#ifndef RUNNEL_TOOLS_BENCHMARK_MATMULS_H_
#define RUNNEL_TOOLS_BENCHMARK_MATMULS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/model/model_config.h"
#include "tools/benchmark/steady_streams.h"

namespace runnel {

// Parts of the model whose share of the time is reported.
enum ModelPart : uint8_t {
  kSubsamplingPart,
  kFeedForwardPart,
  kAttentionPart,  // the projections, without scores and context
  // The pointwise convolutions, without the depthwise one; of a Branchformer, the projections of
  // the cgMLP and of the merging.
  kConvolutionPart,
  kCtcPart,
  kNumModelParts,
};
constexpr std::array<const char*, kNumModelParts> kModelPartNames = {
    "subsampling", "feed_forward", "attention", "convolution", "ctc"};

// A number for each part.
using PartCounts = std::array<int64_t, kNumModelParts>;

// A multiplication by a weight: (rows, inputs) by (inputs, outputs). If kernel_size is above 1, a
// convolution with a square kernel, which computes (height, width) outputs of each of `rows` items.
struct Matmul {
  ModelPart part;
  int64_t rows;
  int64_t inputs;  // of a convolution: channels
  int64_t outputs;
  int64_t kernel_size = 1;
  int64_t stride = 1;
  int64_t height = 1;
  int64_t width = 1;
};

// The large matmuls of one chunk of `num_streams` streams, in order of computation. chunk_size:
// encoder frames; layers before a stride compute more rows. They exclude convolutions of a single
// channel, depthwise convolutions, the matmuls of attention scores and context, which have no
// weight, and those of a transducer.
std::vector<Matmul> LargeMatmuls(const ModelConfig& config, MeasuredHead head, int64_t chunk_size,
                                 int64_t num_streams);

// The setting whose chunks have as many rows and no left context as the windows of one with right
// context; any other as it is. The head counts as if it computed all rows of a window.
StreamingSetting ComputedRows(const StreamingSetting& setting);

// Floating-point operations of one chunk of one stream in the steady state. A multiply-add is two
// operations; element-wise operations, and those of a transducer, are not counted.
struct OperationCount {
  PartCounts parts = {};  // matmuls with weights and convolutions, large or not
  int64_t attention = 0;  // scores (keys and positions) and context
  int64_t dense() const;  // of all parts
  int64_t total() const { return dense() + attention; }
};

OperationCount OperationsPerChunk(const ModelConfig& config, MeasuredHead head,
                                  const StreamingSetting& setting);

// Values of the weights of these matmuls, which one step of any number of streams reads once.
PartCounts NumWeights(const std::vector<Matmul>& matmuls);

// Values of the cached keys and values that one chunk of one stream reads in the steady state.
int64_t NumCachedValues(const EncoderConfig& config, const StreamingSetting& setting);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_MATMULS_H_
