#include "tools/decoder_pool.h"

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "tools/run_in_threads.h"
#include "tools/work_queue.h"

namespace runnel {
namespace {

// Results that may wait for an earlier one: enough to hide one long recording among short ones.
constexpr size_t kResultWindow = 10000;

}  // namespace

LatencyHistogram DecodeRecordings(const std::shared_ptr<const Model>& model,
                                  const std::vector<Recording>& recordings,
                                  const BatchDecoderOptions& options, int num_threads,
                                  DecodeListener* listener) {
  WorkQueue queue(recordings.size(), kResultWindow);
  LatencyHistogram latency;
  std::mutex mutex;  // of latency
  const auto work = [&] {
    BatchDecoder decoder(model, recordings, options, &queue, listener);
    decoder.Run();
    const std::lock_guard<std::mutex> lock(mutex);
    latency.Merge(decoder.step_latency());
  };
  const auto num_useful = std::min(static_cast<size_t>(num_threads), recordings.size());
  RunInThreads(static_cast<int>(num_useful), work, [&queue] { queue.Stop(); });
  return latency;
}

}  // namespace runnel
