#include "tools/decoder_pool.h"

#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>

#include "runtime/threads.h"
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
  std::exception_ptr failure;
  std::mutex mutex;  // of latency and failure

  const auto work = [&] {
    try {
      SetThreadsPerOperation(1);
      BatchDecoder decoder(model, recordings, options, &queue, listener);
      decoder.Run();
      const std::lock_guard<std::mutex> lock(mutex);
      latency.Merge(decoder.step_latency());
    } catch (...) {
      queue.Stop();
      const std::lock_guard<std::mutex> lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < num_threads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return latency;
}

}  // namespace runnel
