// Memory for packed weights, in huge pages where the system has them.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_WEIGHT_MEMORY_H_
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_WEIGHT_MEMORY_H_

#include <cstdint>
#include <memory>

namespace runnel::kernels {

// `num_bytes` zeros, aligned to a cache line. Pieces that are taken one after the other lie one
// after the other, so the weights of a model lie in the order in which a step reads them. A step
// reads all of them, and finds fewer pages faster (docs/design/encoder.md). The memory is returned
// in blocks, when all pieces of a block are gone. May be called from several threads at once.
// Throws std::bad_alloc.
std::shared_ptr<uint8_t> TakeWeightMemory(int64_t num_bytes);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_WEIGHT_MEMORY_H_
