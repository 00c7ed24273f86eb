// How the CPU backend computes.
#ifndef RUNNEL_ENCODER_CPU_OPTIONS_H_
#define RUNNEL_ENCODER_CPU_OPTIONS_H_

#include <optional>

#include "encoder/cpu/kernels/matmul_input.h"
#include "encoder/position/distances.h"

namespace runnel::cpu {

struct Options {
  kernels::MatmulType matmul_type = kernels::MatmulType::kFloat32;
  // Keys and values of the left context are stored as bfloat16, which halves the memory of a
  // stream. Those of the current chunk are rounded alike, so that a frame has the same keys in
  // every chunk that attends to it.
  bool bfloat16_cache = false;
  int step_threads = 1;  // threads that compute one step (kernels/step_threads.h)
  // Those of most chunks. Position tables have them from the start, and no more: a table that grows
  // with the chunks of a stream keeps several sizes.
  std::optional<Distances> usual_distances = std::nullopt;
  // Of the stored projections of positions by distance, which are multiplied in float32.
  kernels::MatmulType position_type = kernels::MatmulType::kFloat32;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_OPTIONS_H_
