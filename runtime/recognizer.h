// Live recognition for servers: streams fed from any thread, decoded in batches by worker threads.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools. docs/embedding.md has complete
// programs. Who drives streams by hand needs only Stream and DecodeChunks (runtime/stream.h).
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

class Lexicon;
class RecognizerCore;

// What one batch did. One value per chunk where there are several.
struct BatchReport {
  std::vector<double> queue_ms;  // from its last sample accepted to the start of the batch
  std::vector<double> chunk_ms;  // from its last sample accepted to its result
  double compute_ms = 0;         // of the batch, features and search included
  double audio_s = 0;            // of audio that the chunks advanced their streams by
};

struct RecognizerOptions {
  // Worker threads, 1 to 1024. Each computes one batch at a time on one core.
  int num_threads = 1;
  // Streams in one batch, at least 1. Larger: more throughput under load, longer steps.
  int max_batch_streams = 16;
  // How long a chunk that is ready waits at most for others to share its batch: a batch starts when
  // it is full or its oldest chunk has waited this long. At least 0.
  double max_batch_wait_ms = 10;
  // Audio that a stream holds undecoded at most, in seconds, above 0: beyond it AcceptSamples takes
  // nothing. A chunk must fit in; of whole-utterance streams, the whole utterance.
  double max_buffered_s = 30;
  // Called after each batch from worker threads, perhaps several at once; may be empty. Must not
  // throw.
  std::function<void(const BatchReport&)> on_batch;

  // Throws std::invalid_argument naming field, value and range.
  void Validate() const;
};

// Counted since the Recognizer was made, where no moment is said. Quantiles are within 0.5 %.
struct RecognizerStatus {
  int64_t num_streams = 0;     // not over, at this moment
  int64_t queued_streams = 0;  // with a chunk that waits for a worker, at this moment
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

// Thread-safe. Scheduling: a stream with a complete chunk queues up with a deadline,
// max_batch_wait_ms from then; batches take the oldest deadlines first, one chunk per stream. A
// stream that has more audio queues up anew behind those who wait, so one that sends faster than
// real time takes no more than its turn, and under overload all fall behind alike.
//
// A process may exit without destroying it: exit() waits for the chunks that are being computed,
// not for callbacks, and no further chunk is begun. So a static object must not wait for a result
// when it is destroyed; to cancel streams and destroy recognizers is fine.
class Recognizer {
 public:
  // Starts the workers. Throws std::invalid_argument when an option is out of its range.
  explicit Recognizer(std::shared_ptr<const Model> model, const RecognizerOptions& options = {});
  // Cancels the streams that are left and waits for the workers. Not to be called by a callback.
  ~Recognizer();
  Recognizer(const Recognizer&) = delete;
  Recognizer& operator=(const Recognizer&) = delete;

  // A new stream; who keeps it longer than the recognizer lives has a cancelled one. Without
  // `on_update` the results are polled. nbest: hypotheses in the final update at most, at least 1.
  // Throws std::invalid_argument as Stream does, and when a chunk is longer than max_buffered_s.
  std::shared_ptr<LiveStream> Open(const StreamOptions& options = {}, UpdateCallback on_update = {},
                                   int nbest = 1);

  // Continues from a LiveStream::Snapshot or Stream::Snapshot. Throws as Stream::Restore and Open
  // do. `lexicon`: the stream's, when it had one.
  std::shared_ptr<LiveStream> Restore(const std::string& snapshot, UpdateCallback on_update = {},
                                      int nbest = 1,
                                      std::shared_ptr<const Lexicon> lexicon = nullptr);

  RecognizerStatus status() const;
  const std::shared_ptr<const Model>& model() const;
  const RecognizerOptions& options() const;

 private:
  std::shared_ptr<RecognizerCore> core_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_RECOGNIZER_H_
