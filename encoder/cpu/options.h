// How the CPU backend computes.
#ifndef RUNNEL_ENCODER_CPU_OPTIONS_H_
#define RUNNEL_ENCODER_CPU_OPTIONS_H_

#include <vector>

#include "encoder/cpu/kernels/matmul/stored_matrix.h"
#include "encoder/cpu/kernels/matmul_input.h"

namespace runnel::cpu {

class StoredMatrices;

struct Options {
  kernels::MatmulType matmul_type = kernels::MatmulType::kFloat32;
  // Keys and values of the left context are stored as bfloat16, which halves the memory of a
  // stream. Those of the current chunk are rounded alike, so that a frame has the same keys in
  // every chunk that attends to it.
  bool bfloat16_cache = false;
  int step_threads = 1;  // threads that compute one step (kernels/step_threads.h)

  // Both are used only while the modules of a model are made.
  // Where the matrices come from, in place of the weights; null: they are packed from the weights.
  StoredMatrices* stored = nullptr;
  // Gets every matrix that is packed, in the order of the modules; null: none is wanted.
  std::vector<kernels::StoredMatrix>* packed = nullptr;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_OPTIONS_H_
