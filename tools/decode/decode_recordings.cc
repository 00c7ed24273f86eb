#include "tools/decode/decode_recordings.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>

#include "runtime/stream.h"
#include "tools/cli/run_in_threads.h"
#include "tools/decode/ordered_output.h"
#include "tools/decode/result_sink.h"
#include "tools/decode/work_queue.h"

namespace runnel {
namespace {

// Results that may wait for an earlier one: enough to hide one long recording among short ones.
constexpr size_t kResultWindow = 10000;

// Keeps results; a recording that failed may have an empty text.
class ResultMap : public ResultSink {
 public:
  // Result i is kept at keys[i]. `keys` must outlive the map.
  explicit ResultMap(const std::vector<size_t>& keys) : keys_(keys) {}

  void Append(size_t index, const std::string& piece) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    texts_[keys_[index]] += piece;
  }
  void Complete(size_t index) override { Append(index, ""); }

  // Once all results are complete.
  const std::map<size_t, std::string>& texts() const { return texts_; }

 private:
  const std::vector<size_t>& keys_;
  std::mutex mutex_;
  std::map<size_t, std::string> texts_;
};

LatencyHistogram DecodeInThreads(const std::shared_ptr<const Model>& model,
                                 const std::vector<Recording>& recordings,
                                 const DecodeOptions& options, DecodeListener* listener) {
  WorkQueue queue(recordings.size(), kResultWindow);
  LatencyHistogram latency;
  std::mutex mutex;  // guards latency
  const auto work = [&] {
    BatchDecoder decoder(model, recordings, options.batch, &queue, listener);
    decoder.Run();
    const std::lock_guard<std::mutex> lock(mutex);
    latency.Merge(decoder.step_latency());
  };
  const auto num_useful = std::min(static_cast<size_t>(options.num_threads), recordings.size());
  RunInThreads(static_cast<int>(num_useful), work, [&queue] { queue.Stop(); });
  return latency;
}

}  // namespace

LatencyHistogram DecodeRecordings(const std::shared_ptr<const Model>& model,
                                  const std::vector<Recording>& recordings,
                                  const FinishedResults& finished, const DecodeOptions& options,
                                  Progress* progress, Console* console) {
  const auto decode = [&](const std::vector<Recording>& some, ResultSink* sink) {
    ResultReporter reporter(TextTokens(*model, options.batch.stream), some, options.report, sink,
                            progress, console);
    return DecodeInThreads(model, some, options, &reporter);
  };
  std::vector<Recording> gaps;
  for (const size_t index : finished.gaps()) gaps.push_back(recordings[index]);
  ResultMap found(finished.gaps());
  LatencyHistogram latency = decode(gaps, &found);
  finished.Restore(found.texts());

  OrderedOutput output(options.output, options.keeps_output ? OrderedOutput::Mode::kAppend
                                                            : OrderedOutput::Mode::kOverwrite);
  const auto first = recordings.begin() + static_cast<std::ptrdiff_t>(finished.num_reached());
  latency.Merge(decode({first, recordings.end()}, &output));
  output.Close();
  return latency;
}

}  // namespace runnel
