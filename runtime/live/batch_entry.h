// One stream in one batch: feeds its decoder, and delivers the update that comes of its chunk.
#ifndef RUNNEL_RUNTIME_LIVE_BATCH_ENTRY_H_
#define RUNNEL_RUNTIME_LIVE_BATCH_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/live/live_stream_state.h"
#include "runtime/live_stream.h"
#include "runtime/live_update.h"
#include "runtime/stream.h"

namespace runnel {

// A worker calls Feed, DecodeChunks for all entries with a chunk, MakeUpdate and Deliver, in this
// order. The decoder is locked from the constructor to the end of MakeUpdate. An entry has either a
// chunk, or a preview of one, or an utterance to finalize, or nothing to compute.
//
// An exception, also one of a callback, ends this stream with an error update and no other.
class BatchEntry {
 public:
  using Clock = LiveStream::State::Clock;

  explicit BatchEntry(std::shared_ptr<LiveStream> live);

  // Gives the decoder the samples of its next chunk. `batch_start`: for queue_ms. False when the
  // stream was cancelled: the entry is of no use then.
  bool Feed(Clock::time_point batch_start) noexcept;
  // Instead of Feed: the stream ends with `error`.
  bool Fail(const char* error) noexcept;
  // Makes the update from the decoder's results and measures chunk_ms. `error`: why DecodeChunks
  // failed, "" if it did not.
  void MakeUpdate(const std::string& error) noexcept;
  // Gives the update to the callback or to Poll; then the stream ends, waits or queues up again.
  void Deliver() noexcept;

  bool has_chunk() const { return has_chunk_; }
  // What DecodeChunks has to advance: the stream, or a copy; null if nothing.
  Stream* decoder();
  // From the last sample of the chunk accepted to the start of the batch, and to the update.
  double queue_ms() const { return queue_ms_; }
  double chunk_ms() const { return chunk_ms_; }
  // Audio by which the chunk advanced the stream.
  double advanced_ms() const { return advanced_ms_; }
  // StepSize of what was computed.
  double size() const { return size_; }
  // The account's share of the batch took `seconds`.
  void Charge(double seconds) const;

 private:
  // Both return false when the stream is over.
  bool Begin();
  bool GiveAudio();
  void MakeCopy();
  void FillUpdate();
  void FillTexts();
  bool has_news() const;

  // Parts of Deliver.
  void Publish();
  void Store();
  void GoOn();
  void CallOnRoom();
  void EndWith(const std::string& error);

  std::shared_ptr<LiveStream> live_;
  LiveStream::State& state_;
  DecoderLock decoder_lock_;
  Clock::time_point arrival_;  // of the chunk's last sample
  int64_t frames_before_ = 0;  // encoder frames
  double advanced_ms_ = 0;
  bool has_chunk_ = false;
  bool finalizes_ = false;
  int64_t num_finalizations_ = 0;  // calls of FinalizeUtterance that this carries out
  std::optional<Stream> preview_;
  std::optional<Stream> finished_;  // a copy that ends where the utterance to finalize does
  bool is_repeated_ = false;        // a preview that says nothing new
  std::string error_;
  size_t wanted_ = 0;  // LiveStream::State::wanted from now on
  double size_ = 0;
  double expected_s_ = 0;
  double queue_ms_ = 0;
  double chunk_ms_ = 0;
  LiveUpdate update_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_BATCH_ENTRY_H_
