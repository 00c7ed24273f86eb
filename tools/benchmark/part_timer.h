// Times the parts of an encoder while it runs its steps.
#ifndef RUNNEL_TOOLS_BENCHMARK_PART_TIMER_H_
#define RUNNEL_TOOLS_BENCHMARK_PART_TIMER_H_

#include <array>
#include <memory>

#include "encoder/backend.h"
#include "tools/benchmark/matmuls.h"

namespace runnel {

// Milliseconds spent in the modules of each part, with their norms and residual sums.
// kAttentionPart is the whole module, with scores and context.
using PartTimes = std::array<double, kNumModelParts>;

// A backend that computes what `backend` does and adds the time of every call of a module to
// `times`, which must outlive the modules. They may be used by one thread at a time.
std::unique_ptr<const EncoderBackend> MakeTimedBackend(
    std::unique_ptr<const EncoderBackend> backend, PartTimes* times);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_PART_TIMER_H_
