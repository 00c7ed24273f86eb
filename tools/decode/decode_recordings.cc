#include "tools/decode/decode_recordings.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "tools/cli/decimal.h"
#include "tools/cli/run_in_threads.h"
#include "tools/decode/ordered_output.h"
#include "tools/decode/recording_result.h"
#include "tools/decode/work_queue.h"

namespace runnel {
namespace {

// Results that may wait for an earlier one: enough to hide one long recording among short ones.
constexpr size_t kResultWindow = 10000;

// Takes the formatted results of single recordings, in any order, from any thread. A recording that
// failed has an empty text.
using ResultSink = std::function<void(size_t index, std::string text)>;

// Passes results to a sink and everything else to the console.
class Reporter : public DecodeListener {
 public:
  Reporter(const Model& model, const std::vector<Recording>& recordings,
           const DecodeOptions& options, ResultSink sink, Progress* progress, Console* console)
      : tokens_(model.tokens()),
        recordings_(recordings),
        options_(options),
        sink_(std::move(sink)),
        progress_(progress),
        console_(console) {}

  void OnAudio(double seconds) override { progress_->AddAudio(seconds); }

  void OnPartial(size_t index, const std::string& text) override {
    if (!options_.prints_partials) return;
    console_->Print(recordings_[index].id + " partial: " + text);
  }

  void OnResult(size_t index, const RecordingResult& result) override {
    console_->SetStatus("");
    const Recording& recording = recordings_[index];
    if (result.announced_seconds.value_or(0) > result.audio_seconds) {
      console_->Info((recording.path == "-" ? "standard input" : recording.path) + ": ends after " +
                     Decimal(result.audio_seconds, 2) + " s, its header announces " +
                     Decimal(*result.announced_seconds, 2) + " s");
    }
    sink_(index, FormatResult(options_.format, recording.id, result, options_.batch.stream.nbest,
                              tokens_));
    progress_->AddFinished(/*failed=*/false);
  }

  void OnFailure(size_t index, const std::string& message) override {
    console_->Error(message);
    sink_(index, "");
    progress_->AddFinished(/*failed=*/true);
  }

 private:
  const TokenTable& tokens_;
  const std::vector<Recording>& recordings_;
  const DecodeOptions& options_;
  const ResultSink sink_;
  Progress* const progress_;
  Console* const console_;
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
  const auto decode = [&](const std::vector<Recording>& some, const ResultSink& sink) {
    Reporter reporter(*model, some, options, sink, progress, console);
    return DecodeInThreads(model, some, options, &reporter);
  };
  std::vector<Recording> gaps;
  for (const size_t index : finished.gaps()) gaps.push_back(recordings[index]);
  std::map<size_t, std::string> found;
  std::mutex mutex;  // guards found
  LatencyHistogram latency = decode(gaps, [&](size_t gap, std::string text) {
    const std::lock_guard<std::mutex> lock(mutex);
    found.emplace(finished.gaps()[gap], std::move(text));
  });
  finished.Restore(found);

  OrderedOutput output(options.output, options.keeps_output ? OrderedOutput::Mode::kAppend
                                                            : OrderedOutput::Mode::kOverwrite);
  const auto first = recordings.begin() + static_cast<std::ptrdiff_t>(finished.num_reached());
  latency.Merge(decode({first, recordings.end()}, [&](size_t index, std::string text) {
    output.Put(index, std::move(text));
  }));
  output.Close();
  return latency;
}

}  // namespace runnel
