// The work of one decoding thread: several recordings at the same time, one ragged batch per step.
#ifndef RUNNEL_TOOLS_DECODE_BATCH_DECODER_H_
#define RUNNEL_TOOLS_DECODE_BATCH_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frontend/audio_reader.h"
#include "runtime/live/latency_histogram.h"
#include "runtime/model.h"
#include "runtime/stream.h"
#include "tools/decode/decode_listener.h"
#include "tools/decode/input/recording_list.h"
#include "tools/decode/input/stream_input.h"
#include "tools/decode/work_queue.h"

namespace runnel {

struct BatchDecoderOptions {
  StreamOptions stream;
  int batch_streams = 1;  // recordings decoded at the same time
  AudioReaderOptions audio;
  InputKind input = InputKind::kAudio;
};

// Reads audio in blocks as the streams consume it, and keeps no utterance that has ended, so memory
// does not grow with the length of a recording. Exceptions are the utterance that is spoken, the
// caches of a model with unlimited left context, and a chunk that is the whole recording. Used by
// one thread.
class BatchDecoder {
 public:
  // `recordings`, `queue` and `listener` must outlive the decoder.
  BatchDecoder(std::shared_ptr<const Model> model, const std::vector<Recording>& recordings,
               const BatchDecoderOptions& options, WorkQueue* queue, DecodeListener* listener);
  ~BatchDecoder();

  // Takes recordings from the queue until it is empty or stopped. Reports recordings that cannot be
  // read to the listener; other exceptions are passed on.
  void Run();

  // Duration of every step so far, counted once for each stream that it advanced.
  const LatencyHistogram& step_latency() const { return step_latency_; }

 private:
  struct Slot;

  void FillSlots();
  // Reads until a chunk is ready or the audio ends. Returns false when the recording failed.
  bool Feed(Slot* slot);
  void Step();
  // Hands the utterances that have ended, and text that has changed, to the listener.
  void Report(Slot* slot);
  void ReportText(Slot* slot, int64_t utterance_index, std::string text);
  void FinishSlots();
  void Fail(size_t index, const std::string& message);

  const std::shared_ptr<const Model> model_;
  const std::vector<Recording>& recordings_;
  const BatchDecoderOptions options_;
  WorkQueue* const queue_;
  DecodeListener* const listener_;
  std::vector<std::unique_ptr<Slot>> slots_;
  LatencyHistogram step_latency_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_BATCH_DECODER_H_
