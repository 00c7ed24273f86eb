// The matrix products of a chunk: how many operations they are, and what they would cost alone.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_BENCHMARK_PRODUCTS_H_
#define RUNNEL_TOOLS_BENCHMARK_PRODUCTS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/model_config.h"

namespace runnel {

// Parts of the model that the share of time is reported for.
enum ProductPart : uint8_t {
  kSubsamplingProducts,
  kFeedForwardProducts,
  kAttentionProducts,    // the projections, not scores and context
  kConvolutionProducts,  // the pointwise ones
  kCtcProducts,
  kNumProductParts,
};
constexpr std::array<const char*, kNumProductParts> kProductPartNames = {
    "subsampling", "feed_forward", "attention", "convolution", "ctc"};

// A product with a weight: (rows, inputs) by (inputs, outputs), or, where kernel_size is above 1, a
// convolution of that kernel over (height, width) outputs of each of `rows` items.
struct Product {
  ProductPart part;
  int64_t rows;
  int64_t inputs;  // of a convolution: channels
  int64_t outputs;
  int64_t kernel_size = 1;
  int64_t stride = 1;
  int64_t height = 1;
  int64_t width = 1;
};

// The large products of one chunk of `num_streams` streams, in the order of the computation. Not
// among them: convolutions that read a single channel, depthwise ones, and the products of queries
// with keys, positions and values, which have no weight.
std::vector<Product> LargeProducts(const ModelConfig& config, int64_t chunk_size,
                                   int64_t num_streams);

// Floating-point operations (a multiply-add is two) of one chunk of one stream in the steady state.
struct OperationCount {
  int64_t dense = 0;      // products with weights, and convolutions, large or not
  int64_t attention = 0;  // queries with keys and positions, weights with values
  int64_t total() const { return dense + attention; }
};

// Element-wise operations are not counted.
OperationCount OperationsPerChunk(const ModelConfig& config, const StreamingSetting& setting);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_PRODUCTS_H_
