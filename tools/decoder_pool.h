// Worker threads that decode a list of recordings, each with its own batch.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_DECODER_POOL_H_
#define RUNNEL_TOOLS_DECODER_POOL_H_

#include <memory>
#include <vector>

#include "runtime/latency_histogram.h"
#include "runtime/model.h"
#include "tools/batch_decoder.h"
#include "tools/decode_listener.h"
#include "tools/recording_list.h"

namespace runnel {

// Decodes all recordings in `num_threads` threads and returns when they are done: the latencies of
// all steps (BatchDecoder::step_latency). The first exception in any thread stops all of them and
// is thrown here.
LatencyHistogram DecodeRecordings(const std::shared_ptr<const Model>& model,
                                  const std::vector<Recording>& recordings,
                                  const BatchDecoderOptions& options, int num_threads,
                                  DecodeListener* listener);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODER_POOL_H_
