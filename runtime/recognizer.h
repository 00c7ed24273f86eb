// Live recognition for servers: streams fed from any thread, decoded in batches by worker threads.
// docs/embedding.md has complete programs. A program that decodes one file at a time needs only
// Stream (runtime/stream.h).
#ifndef RUNNEL_RUNTIME_RECOGNIZER_H_
#define RUNNEL_RUNTIME_RECOGNIZER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/live_stream.h"
#include "runtime/model.h"

namespace runnel {

class BatchWorkers;
class StreamPool;
class WordList;

// Durations of one batch; the vectors have one value per chunk.
struct BatchReport {
  std::vector<double> queue_ms;  // from its last sample accepted to the start of the batch
  std::vector<double> chunk_ms;  // from its last sample accepted to its result
  double compute_ms = 0;         // of the whole batch, features and search included
  double audio_s = 0;            // audio that the chunks advanced their streams by
};

struct RecognizerOptions {
  static constexpr int kMaxThreads = 1024;
  static constexpr int kMaxBatchStreams = 65536;
  static constexpr double kMaxBatchWaitMs = 3.6e6;  // an hour
  static constexpr double kMinBufferedS = 1e-3;
  static constexpr double kMaxBufferedS = 86400;  // a day

  // Worker threads, 1 to kMaxThreads. Each computes one batch at a time, on one core
  // or on ModelOptions::step_threads.
  int num_threads = 1;
  // Largest number of streams in one batch, 1 to kMaxBatchStreams. Larger: more throughput under
  // load, but each batch takes longer.
  int max_batch_streams = 16;
  // A batch starts when it is full or its oldest chunk has waited this long for others, in
  // milliseconds, 0 to kMaxBatchWaitMs. The end of an utterance or of the audio does not wait.
  double max_batch_wait_ms = 10;
  // Undecoded audio that a stream holds at most, in seconds, kMinBufferedS to kMaxBufferedS.
  // AcceptSamples takes nothing beyond it. A chunk must fit in; with kWholeUtterance, the whole
  // stream, which FinalizeUtterance does not shorten.
  double max_buffered_s = 30;
  // Called after each batch from worker threads, possibly from several at once; may be empty. Must
  // not throw: an exception is ignored.
  std::function<void(const BatchReport&)> on_batch;

  // Throws std::invalid_argument naming field, value and range.
  void Validate() const;
};

// Counts and durations since the Recognizer was made, unless a field says "now". Quantiles are
// within 0.5 %.
struct RecognizerStatus {
  int64_t num_streams = 0;     // now: not over
  int64_t queued_streams = 0;  // now: with a chunk that waits for a worker
  int64_t num_batches = 0;
  int64_t num_chunks = 0;  // num_chunks / num_batches is the mean batch size
  double audio_s = 0;      // decoded
  double compute_s = 0;    // spent by workers
  double queue_ms_p50 = 0;
  double queue_ms_p95 = 0;
  double chunk_ms_p50 = 0;
  double chunk_ms_p95 = 0;
  double chunk_ms_p99 = 0;
};

// Thread-safe. A stream with a complete chunk joins a queue, where it waits for others for
// max_batch_wait_ms at most. Batches take the oldest chunks first and one chunk per stream. A
// stream that has more audio joins the end of the queue again, so a stream that sends faster than
// real time does not slow the others down. Under overload all streams fall behind alike.
//
// The end of an utterance (FinalizeUtterance) or of the audio (Finish) waits for no other stream,
// and goes before chunks that have not waited for 250 ms, unless more than two chunks wait before
// it.
//
// With streams of several accounts, the chunks of a batch are taken in turns of their accounts, by
// computing time used: an account falls behind only when it asks for more than its share. Within an
// account the oldest chunk comes first. A batch then takes about 100 ms at most. The ends of an
// account come before chunks of others until it is 100 ms of computing time ahead of its share.
//
// A process may exit without destroying its Recognizer: exit() waits for the chunks that are being
// computed, not for callbacks, and no further chunk is begun. The destructor of a static object
// must therefore not wait for a result; it may cancel streams and destroy recognizers.
class Recognizer {
 public:
  // Starts the workers. Throws std::invalid_argument when `model` is null or an option is out of
  // its range, std::system_error when a thread cannot be started.
  explicit Recognizer(std::shared_ptr<const Model> model, const RecognizerOptions& options = {});
  // Cancels the streams that are left and waits for the workers. Not to be called by a callback.
  ~Recognizer();
  Recognizer(const Recognizer&) = delete;
  Recognizer& operator=(const Recognizer&) = delete;

  // Opens a stream with `options`. Without `on_update` its results are polled.
  // `account`: any name, of the client that shares the workers with others, for example. Throws
  // std::invalid_argument as the constructor of Stream does, and when a chunk is longer than
  // max_buffered_s.
  std::shared_ptr<LiveStream> Open(const StreamOptions& options = {}, UpdateCallback on_update = {},
                                   const std::string& account = "");

  // Continues from a LiveStream::Snapshot or Stream::Snapshot. Throws as Stream::Restore and Open
  // do.
  std::shared_ptr<LiveStream> Restore(const std::string& snapshot, UpdateCallback on_update = {},
                                      const RestoreOptions& options = {},
                                      const std::string& account = "");

  RecognizerStatus status() const;
  const std::shared_ptr<const Model>& model() const { return model_; }
  const RecognizerOptions& options() const { return options_; }

 private:
  const std::shared_ptr<const Model> model_;
  const RecognizerOptions options_;
  const std::shared_ptr<StreamPool> pool_;
  const std::shared_ptr<BatchWorkers> workers_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_RECOGNIZER_H_
