#include "runtime/live/batch_entry.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/text/first_line.h"

namespace runnel {
namespace {

using Phase = LiveStream::State::Phase;

double Milliseconds(BatchEntry::Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

BatchEntry::BatchEntry(std::shared_ptr<LiveStream> live)
    : live_(std::move(live)), state_(*live_->state_), decoder_lock_(&state_) {}

bool BatchEntry::Feed(Clock::time_point batch_start) {
  Stream& stream = state_.stream;
  {
    const std::lock_guard<std::mutex> lock(state_.mutex);
    if (state_.phase == Phase::kOver) return false;
    state_.phase = Phase::kDecoding;
    arrival_ = state_.queued_at;
    waited_ms_ = Milliseconds(batch_start - state_.queued_at);
    error_ = state_.overflow;
    state_.has_undelivered = false;
  }
  frames_before_ = stream.num_encoder_frames();
  bool more = error_.empty();
  while (more && !finalizes_ && !stream.ChunkReady() && !stream.finished()) {
    const size_t to_chunk = state_.SamplesWanted();
    const size_t to_preview = state_.SamplesToPreview();
    std::vector<float> samples;
    bool finish = false;
    {
      const std::lock_guard<std::mutex> lock(state_.mutex);
      const int64_t begin = state_.num_samples - static_cast<int64_t>(state_.waiting.size());
      // Up to where the utterance ends, or as many as there are.
      const bool ends = !state_.finalizations.empty();
      const size_t present = ends ? static_cast<size_t>(state_.finalizations.front().end - begin)
                                  : state_.waiting.size();
      const bool for_chunk = to_chunk <= present || ends || state_.finish_requested;
      // A preview covers everything that is there.
      const size_t count = for_chunk               ? std::min(to_chunk, present)
                           : to_preview <= present ? present
                                                   : 0;
      const int64_t end = begin + static_cast<int64_t>(count);
      if (count > 0) {
        arrival_ = state_.arrivals.TimeOf(end - 1);
        state_.arrivals.Forget(end);
        samples = state_.waiting.Take(count);
      }
      finalizes_ = ends && count == present;
      finish = state_.finish_requested && !ends && state_.waiting.size() == 0;
      if (finish) arrival_ = state_.finished_at;
      more = count > 0;
    }
    try {
      if (!samples.empty()) stream.AcceptSamples(samples.data(), samples.size());
      if (finish) stream.Finish();
    } catch (const std::exception& failed) {  // a sample that is not a number, or no memory
      error_ = failed.what();
      more = false;
    }
  }
  has_chunk_ = error_.empty() && stream.ChunkReady();
  // A chunk comes first: the stream then queues up again.
  finalizes_ = finalizes_ && error_.empty() && !has_chunk_;
  if (finalizes_) {
    const std::lock_guard<std::mutex> lock(state_.mutex);
    arrival_ = state_.finalizations.front().time;
    num_finalizations_ = state_.finalizations.front().num_calls;
    state_.finalizations.pop_front();
  }
  try {
    if (error_.empty() && !has_chunk_) MakeCopy();
  } catch (const std::exception& failed) {  // no memory; a stream can do without a preview
    preview_.reset();
    finished_.reset();
    if (finalizes_) error_ = failed.what();
  }
  // Finish may have been called after the batch started.
  queue_ms_ = std::max(0.0, Milliseconds(batch_start - arrival_));
  return true;
}

void BatchEntry::MakeUpdate(const std::string& error) {
  const Stream& stream = state_.stream;
  if (!error.empty()) {
    if (has_chunk_ || finished_) error_ = error;
    preview_.reset();  // half advanced
  }
  if (finished_ && error_.empty()) FinalizeUtterance();
  if (error_.empty()) error_ = stream.failure();
  const double frame_ms = stream.model().encoder_frame_ms();
  if (state_.options.chunk_size != StreamOptions::kWholeUtterance) {
    own_chunk_ms_ = static_cast<double>(state_.options.chunk_size) * frame_ms;
  }
  advanced_ms_ = static_cast<double>(stream.num_encoder_frames() - frames_before_) * frame_ms;
  chunk_ms_ = Milliseconds(state_.pool->now() - arrival_);
  update_.audio_ms =
      static_cast<double>(preview_ ? state_.previewed : stream.num_encoder_frames()) * frame_ms;
  if (has_chunk_ || finalizes_ || preview_) {
    update_.accepted_at = arrival_;
    update_.latency_ms = chunk_ms_;
  }
  try {
    FillTexts();
    if (has_chunk_) state_.GrowChunk(state_.pool->growth().Factor(state_.pool->now()));
    factor_ = state_.ChunkFactor();
    wanted_ = state_.SamplesToPreview();
  } catch (const std::exception& failed) {  // no memory
    error_ = failed.what();
  }
  update_.error = FirstLine(error_);
  update_.is_final = update_.is_final || !update_.error.empty();
  decoder_lock_.Release();
}

void BatchEntry::MakeCopy() {
  const Stream& stream = state_.stream;
  if (finalizes_) {
    finished_.emplace(stream);
    finished_->Finish();
    return;
  }
  if (state_.options.early_text.interval == 0 || stream.finished()) return;
  const int64_t num_complete = stream.num_encoder_frames() + stream.num_waiting_frames();
  if (num_complete < state_.NextPreview()) return;
  state_.previewed = num_complete;
  preview_.emplace(stream.Preview(state_.options.early_text.padding));
}

Stream* BatchEntry::decoder() {
  if (has_chunk_) return &state_.stream;
  std::optional<Stream>& copy = finished_ ? finished_ : preview_;
  return copy ? &*copy : nullptr;
}

void BatchEntry::FinalizeUtterance() {
  try {
    state_.stream.FinalizeUtterance(*std::move(finished_));
  } catch (const std::exception& failed) {
    error_ = failed.what();
  }
}

void BatchEntry::FillTexts() {
  Stream& stream = state_.stream;
  update_.utterances = stream.TakeUtterances();
  const bool is_empty =
      update_.utterances.empty() || update_.utterances.back().end != UtteranceEnd::kFinalize;
  update_.num_empty_finalizations = num_finalizations_;
  if (num_finalizations_ > 0 && !is_empty) --update_.num_empty_finalizations;
  for (Utterance& utterance : update_.utterances) utterance.latency_ms = update_.latency_ms;
  update_.utterance_index = stream.utterance_index();
  if (stream.text_begin() != state_.seen_begin) {
    state_.seen_begin = stream.text_begin();
    state_.seen_text = state_.seen_tokens = 0;
  }
  const size_t stable_size = stream.StableTextSize();
  // All hypotheses begin with the stable text, also those of a preview.
  const Stream& newest = preview_ && preview_->failure().empty() ? *preview_ : stream;
  const std::string text = newest.TextSince(state_.seen_text);
  update_.stable_size_before = state_.seen_text;
  update_.stable_tokens_before = state_.seen_tokens;
  update_.stable_text = text.substr(0, stable_size - state_.seen_text);
  update_.tentative_text = text.substr(stable_size - state_.seen_text);
  update_.tokens = newest.TokensSince(state_.seen_tokens);
  is_repeated_ = preview_ && update_.tentative_text == state_.seen_tentative;
  state_.seen_tentative = update_.tentative_text;
  update_.num_stable_tokens = stream.NumStableTokens() - state_.seen_tokens;
  state_.seen_text = stable_size;
  state_.seen_tokens = stream.NumStableTokens();
  update_.is_final = stream.IsFinal();
}

void BatchEntry::Deliver() {
  const bool has_news = has_chunk_ || finalizes_ || update_.is_final ||
                        !update_.utterances.empty() || (preview_ && !is_repeated_);
  std::shared_ptr<LiveStream> self;
  bool is_live = true;
  {
    const std::lock_guard<std::mutex> lock(state_.mutex);
    is_live = state_.phase != Phase::kOver;
    if (is_live && update_.is_final) {
      state_.phase = Phase::kOver;
      state_.waiting = SampleQueue();
      self.swap(state_.self);
    }
    if (is_live && has_news && state_.is_polled) {
      if (state_.pending) {
        state_.pending->Append(update_);
      } else {
        state_.pending = update_;
      }
    }
  }
  if (is_live && update_.is_final) state_.pool->Remove(live_.get());
  UpdateCallback done;  // destroyed after the lock is given back: it may hold this stream
  {
    // Cancel waits for this lock.
    const std::lock_guard<std::mutex> running(state_.callback_mutex);
    state_.callback_thread = std::this_thread::get_id();
    if (has_news && state_.on_update && !state_.IsCancelled()) state_.on_update(*live_, update_);
    if (const std::function<void()> on_room = state_.TakeRoomCallback()) on_room();
    state_.callback_thread = std::thread::id();
    if (update_.is_final || state_.IsCancelled()) done.swap(state_.on_update);
  }
  bool has_changed = false;
  {
    const std::lock_guard<std::mutex> lock(state_.mutex);
    if (state_.phase == Phase::kDecoding) {
      state_.phase = Phase::kWaiting;
      state_.wanted = wanted_;
      has_changed = std::exchange(state_.factor, factor_) != factor_;
      state_.QueueIfReady(live_.get());
    }
  }
  if (has_changed) state_.pool->SetFactor(live_.get(), factor_);
  state_.changed.notify_all();
}

void BatchEntry::AddTo(BatchLoad* load, double max_batch_wait_ms) const {
  if (!has_chunk_ || own_chunk_ms_ == 0) return;
  load->audio_s += advanced_ms_ / 1000;
  load->lag += std::max(0.0, waited_ms_ - max_batch_wait_ms) / own_chunk_ms_;
  ++load->num_chunks;
}

}  // namespace runnel
