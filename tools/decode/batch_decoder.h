// One thread's work: several recordings decoded side by side, one ragged batch per step.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_BATCH_DECODER_H_
#define RUNNEL_TOOLS_BATCH_DECODER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/latency_histogram.h"
#include "runtime/model.h"
#include "runtime/stream.h"
#include "tools/decode_listener.h"
#include "tools/recording_list.h"
#include "tools/work_queue.h"

namespace runnel {

struct BatchDecoderOptions {
  StreamOptions stream;
  int nbest = 1;          // hypotheses per recording
  int batch_streams = 1;  // recordings decoded side by side
  int channel = -1;       // of the audio, from 0; -1: the mean of all
};

// Reads audio in blocks, as the streams consume it: memory does not grow with a recording's length
// (beyond what a model with unlimited context keeps). Not thread-safe: one per thread.
class BatchDecoder {
 public:
  // Everything passed by pointer or reference must outlive the decoder.
  BatchDecoder(std::shared_ptr<const Model> model, const std::vector<Recording>& recordings,
               const BatchDecoderOptions& options, WorkQueue* queue, DecodeListener* listener);
  ~BatchDecoder();

  // Takes recordings from the queue until none is left or it is stopped. A recording that cannot be
  // read is reported to the listener; what else is thrown is passed on.
  void Run();

  // Of the steps so far, each counted once for every stream that it advanced.
  const LatencyHistogram& step_latency() const { return step_latency_; }

 private:
  struct Slot;

  void FillSlots();
  // Reads until a chunk is ready or the audio ends; false when the recording failed.
  bool Feed(Slot* slot);
  void Step();
  void FinishSlots();
  void Fail(size_t index, const std::string& message);

  const std::shared_ptr<const Model> model_;
  const std::vector<Recording>& recordings_;
  const BatchDecoderOptions options_;
  WorkQueue* const queue_;
  DecodeListener* const listener_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<float> block_;  // samples just read
  LatencyHistogram step_latency_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BATCH_DECODER_H_
