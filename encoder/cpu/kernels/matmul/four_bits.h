// Weights of four bits. A group is 32 inputs of one output. Its weights are scale * q + minimum,
// where q is 0 to 15 and scale and minimum are whole numbers: an int8 weight for each q. So a
// matmul expands a panel to int8 and multiplies that, with the exact sums and the scale per output
// that an int8 matrix has.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_FOUR_BITS_H_
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_FOUR_BITS_H_

#include <cstdint>
#include <vector>

#include "encoder/cpu/kernels/matmul/error_feedback.h"

namespace runnel::kernels {

constexpr int64_t kFourBitInputs = 32;  // of a group

// A panel of 32 outputs (packed_matrix.h) is a row of blocks. A block is a group of each output:
// their scales, their minima (int8), and four pairs of int8 groups with four inputs each. A byte of
// a pair has the value of an input of the first group in its lower half, and that of the second in
// its upper half.
constexpr int64_t kFourBitScaleBytes = 2 * 32;
constexpr int64_t kFourBitPairs = 4;
constexpr int64_t kFourBitBlockBytes = kFourBitScaleBytes + kFourBitPairs * 4 * 32;

struct FourBitGroup {
  int8_t scale;  // 1 to 17
  int8_t minimum;
  uint8_t values[kFourBitInputs];  // 0 to 15

  // -127 to 127.
  int8_t Weight(int64_t input) const {
    return static_cast<int8_t>(scale * values[input] + minimum);
  }
};

// A group near `weights`, kFourBitInputs of -127 to 127, by the sum of the squared errors.
FourBitGroup RoundToFourBits(const float* weights);

// Rounds all weights of an output, kFourBitInputs for each group, one after the other. Later
// weights make up for the rounding errors of earlier ones. Weights beyond feedback.dim() are zero.
void RoundToFourBits(const ErrorFeedback& feedback, std::vector<float> weights,
                     FourBitGroup* groups);

// Writes a panel. groups: (32 outputs, num_groups).
void StoreFourBitPanel(const FourBitGroup* groups, int64_t num_groups, uint8_t* to);

// A weight of a panel.
int8_t FourBitWeight(const uint8_t* panel, int64_t output, int64_t input);

// Whether the scales of a panel are at most 17, so that no product of a kernel carries.
bool HasFourBitScales(const uint8_t* panel, int64_t num_blocks);

// Writes a panel of num_blocks blocks as the int8 panel of the same weights.
void ExpandFourBitPanel(const uint8_t* panel, int64_t num_blocks, uint8_t* to);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_FOUR_BITS_H_
