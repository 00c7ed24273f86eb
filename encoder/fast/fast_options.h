// How the kernels compute: in which numbers.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools. Knows nothing of LibTorch.
#ifndef RUNNEL_ENCODER_FAST_FAST_OPTIONS_H_
#define RUNNEL_ENCODER_FAST_FAST_OPTIONS_H_

#include "encoder/kernels/product_input.h"

namespace runnel {

struct FastOptions {
  kernels::ProductPrecision precision = kernels::ProductPrecision::kFloat32;
  // Keys and values of the left context are kept as bfloat16: half the memory per stream. Those of
  // the chunk itself are rounded likewise, so that a frame's keys are the same wherever they are
  // read.
  bool bfloat16_cache = false;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_FAST_OPTIONS_H_
