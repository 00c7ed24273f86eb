// Transducers with seeded random weights: small, of any kind.
#ifndef RUNNEL_TESTS_SUPPORT_RANDOM_TRANSDUCER_H_
#define RUNNEL_TESTS_SUPPORT_RANDOM_TRANSDUCER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encoder/rows.h"
#include "runtime/transducer/transducer.h"

namespace runnel::testing {

constexpr int64_t kTransducerModelDim = 18;

// A few tokens and the blank, 0 or the last. `predictor`: lstm1, lstm2 (with a projection), conv or
// embedding.
TransducerConfig SmallTransducer(const std::string& predictor, int vocab_size,
                                 const std::vector<int64_t>& durations = {});

enum class TransducerBackend { kCpuFloat32, kCpuBfloat16, kCpuInt8, kLibTorchFloat32, kFloat64 };

// Throws std::invalid_argument where this build has no such backend.
std::unique_ptr<const Transducer> RandomTransducer(const TransducerConfig& config,
                                                   TransducerBackend backend, uint64_t seed);

// (num_rows, kTransducerModelDim), standard normal times `scale`, of the transducer's data type.
Matrix RandomEncoderRows(int64_t num_rows, uint64_t seed, DataType type = DataType::kFloat32,
                         double scale = 2);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RANDOM_TRANSDUCER_H_
