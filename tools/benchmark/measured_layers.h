// The kinds of layers that bench_operations measures.
#ifndef RUNNEL_TOOLS_BENCHMARK_MEASURED_LAYERS_H_
#define RUNNEL_TOOLS_BENCHMARK_MEASURED_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "encoder/encoder_config.h"
#include "runtime/streaming_config.h"

namespace runnel {

constexpr int64_t kMeasuredFrames = 16;  // encoder frames whose time is reported: a chunk

// An encoder, and the chunks of its streams. One that needs the whole utterance computes utterances
// of setting.chunk_size encoder frames.
struct MeasuredLayers {
  std::string name;
  EncoderConfig encoder;
  StreamingSetting setting = {kMeasuredFrames, 64};
};

// The Conformer in the sizes of WeNet's AISHELL model; the others in the same sizes, but for the
// E-Branchformer and the Efficient Conformer.
std::vector<MeasuredLayers> AllMeasuredLayers();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_MEASURED_LAYERS_H_
