// Random operations on a stream, with checks of what must hold of any stream.
#ifndef RUNNEL_TESTS_SUPPORT_RANDOM_OPERATIONS_H_
#define RUNNEL_TESTS_SUPPORT_RANDOM_OPERATIONS_H_

#include <memory>
#include <random>
#include <vector>

#include "runtime/model.h"
#include "runtime/stream.h"

namespace runnel::testing {

// The utterances of a stream that gets random audio in random packets, and at random times ends
// utterances, is previewed, changes its chunk size, and is decoded or not. Checks that
//  - a stream with the same operations that is replaced by its copies and restored snapshots, with
//    utterances that were not taken and within tokens too, gives the same bits;
//  - a preview does not change the stream;
//  - no audio belongs to two utterances.
std::vector<Utterance> OperateAtRandom(const std::shared_ptr<const Model>& model,
                                       const StreamOptions& options, std::mt19937_64* random);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RANDOM_OPERATIONS_H_
