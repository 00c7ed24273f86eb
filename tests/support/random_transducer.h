// Transducers with seeded random weights: small, of any kind, on the CPU backend.
#ifndef RUNNEL_TESTS_SUPPORT_RANDOM_TRANSDUCER_H_
#define RUNNEL_TESTS_SUPPORT_RANDOM_TRANSDUCER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encoder/cpu/options.h"
#include "encoder/rows.h"
#include "runtime/transducer/transducer.h"

namespace runnel::testing {

constexpr int64_t kTransducerModelDim = 18;

// A few tokens and the blank, 0 or the last. `predictor`: lstm1, lstm2 (with a projection), conv or
// embedding.
TransducerConfig SmallTransducer(const std::string& predictor, int vocab_size,
                                 const std::vector<int64_t>& durations = {});

std::unique_ptr<const Transducer> RandomTransducer(
    const TransducerConfig& config, uint64_t seed,
    kernels::MatmulType matmul_type = kernels::MatmulType::kFloat32);

// (num_rows, kTransducerModelDim) float32, standard normal times `scale`.
Matrix RandomEncoderRows(int64_t num_rows, uint64_t seed, double scale = 2);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RANDOM_TRANSDUCER_H_
