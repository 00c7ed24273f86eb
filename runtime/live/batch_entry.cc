#include "runtime/live/batch_entry.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/live/error_of.h"

namespace runnel {
namespace {

using Phase = LiveStream::State::Phase;

double Milliseconds(BatchEntry::Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

// What a worker says after `update` when the stream ends for another reason than its audio.
LiveUpdate ErrorAfter(const LiveUpdate& update, const std::string& error) {
  LiveUpdate after;
  after.utterance_index = update.utterance_index;
  after.stable_size_before = update.stable_size_before + update.stable_text.size();
  after.stable_tokens_before = update.stable_tokens_before + update.num_stable_tokens;
  after.audio_ms = update.audio_ms;
  after.is_final = true;
  after.error = LineOf(error.c_str());
  return after;
}

std::string TooLong(double max_buffered_s) {
  return "the utterance is longer than max_buffered_s, " + std::to_string(max_buffered_s) +
         " s; expected a shorter one or chunks";
}

}  // namespace

BatchEntry::BatchEntry(std::shared_ptr<LiveStream> live)
    : live_(std::move(live)), state_(*live_->state_), decoder_lock_(&state_) {}

bool BatchEntry::Feed(Clock::time_point batch_start) noexcept {
  if (!Begin()) return false;
  frames_before_ = state_.stream.num_encoder_frames();
  bool is_live = true;
  error_ = ErrorOf([&] { is_live = GiveAudio(); });
  if (!is_live) return false;
  has_chunk_ = error_.empty() && state_.stream.ChunkReady();
  if (error_.empty() && !has_chunk_) {
    const std::string problem = ErrorOf([this] { MakeCopy(); });
    if (!problem.empty()) {
      preview_.reset();  // a stream can do without
      finished_.reset();
      if (finalizes_) error_ = problem;
    }
  }
  if (const Stream* computed = decoder()) {
    const int64_t chunk_size = computed->options().chunk_size;
    const bool is_whole = chunk_size == StreamOptions::kWholeUtterance;
    const int64_t num_frames = computed->num_waiting_frames();
    size_ = StepSize(is_whole ? num_frames : std::min(num_frames, chunk_size), state_.options);
  }
  // Finish may have been called after the batch started.
  queue_ms_ = std::max(0.0, Milliseconds(batch_start - arrival_));
  return true;
}

bool BatchEntry::Fail(const char* error) noexcept {
  error_ = LineOf(error);
  return Begin();
}

bool BatchEntry::Begin() {
  const std::lock_guard<std::mutex> lock(state_.mutex);
  if (state_.audio.is_over()) return false;
  state_.phase = Phase::kDecoding;
  state_.has_undelivered = false;
  arrival_ = state_.queued_at;
  expected_s_ = state_.expected_s;
  return true;
}

bool BatchEntry::GiveAudio() {
  using Step = WaitingAudio::Step;
  Stream& stream = state_.stream;
  Step step = Step::kSamples;
  while (step == Step::kSamples && !stream.ChunkReady() && !stream.finished()) {
    const size_t to_chunk = state_.SamplesWanted();
    const size_t to_preview = state_.SamplesToPreview();
    WaitingAudio::Next next;
    bool overflows = false;
    {
      const std::lock_guard<std::mutex> lock(state_.mutex);
      overflows = state_.audio.overflows();
      next = state_.audio.Take(to_chunk, to_preview);
    }
    if (overflows) throw std::runtime_error(TooLong(state_.pool->max_buffered_s()));
    step = next.step;
    if (step == Step::kEnded) return false;
    if (step != Step::kNothing) arrival_ = next.arrival;
    finalizes_ = step == Step::kFinalize;
    num_finalizations_ = next.num_calls;
    // Throws for a sample that is not a number.
    if (!next.samples.empty()) stream.AcceptSamples(next.samples.data(), next.samples.size());
    if (step == Step::kFinish) stream.Finish();
  }
  return true;
}

void BatchEntry::MakeUpdate(const std::string& error) noexcept {
  if (!error.empty()) {
    if (has_chunk_ || finished_) error_ = LineOf(error.c_str());
    preview_.reset();  // half advanced
  }
  const std::string problem = ErrorOf([this] { FillUpdate(); });
  if (!problem.empty()) {
    update_.stable_text.clear();
    update_.tentative_text.clear();
    update_.tokens.clear();
    update_.num_stable_tokens = 0;
    update_.stable_size_before = state_.seen_text;
    update_.stable_tokens_before = state_.seen_tokens;
    update_.error = problem;
  }
  if (!update_.error.empty()) {
    update_.is_final = true;
    const std::lock_guard<std::mutex> lock(state_.mutex);
    state_.audio.Fail();  // before a snapshot can see a decoder that lacks samples
  }
  decoder_lock_.Release();
}

void BatchEntry::FillUpdate() {
  Stream& stream = state_.stream;
  if (finished_ && error_.empty()) {
    error_ = ErrorOf([&] { stream.FinalizeUtterance(*std::move(finished_)); });
  }
  if (error_.empty() && !stream.failure().empty()) error_ = LineOf(stream.failure().c_str());
  const double frame_ms = stream.model().encoder_frame_ms();
  advanced_ms_ = static_cast<double>(stream.num_encoder_frames() - frames_before_) * frame_ms;
  chunk_ms_ = Milliseconds(state_.pool->now() - arrival_);
  update_.audio_ms =
      stream.EndOfFramesMs(preview_ ? state_.previewed : stream.num_encoder_frames());
  if (has_chunk_ || finalizes_ || preview_) {
    update_.accepted_at = arrival_;
    update_.latency_ms = chunk_ms_;
  }
  update_.error = error_;
  FillTexts();
  wanted_ = state_.SamplesToPreview();
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
  update_.begins_word = newest.BeginsWord();
  update_.tokens = newest.TokensSince(state_.seen_tokens);
  is_repeated_ = preview_ && update_.tentative_text == state_.seen_tentative;
  state_.seen_tentative = update_.tentative_text;
  update_.num_stable_tokens = stream.NumStableTokens() - state_.seen_tokens;
  state_.seen_text = stable_size;
  state_.seen_tokens = stream.NumStableTokens();
  update_.is_final = stream.IsFinal();
}

void BatchEntry::Deliver() noexcept {
  UpdateCallback done;  // destroyed after the lock is given back: it may hold this stream
  {
    // Cancel waits for this lock.
    const std::lock_guard<std::mutex> running(state_.callback_mutex);
    state_.callback_thread = std::this_thread::get_id();
    std::string problem = ErrorOf([this] { Publish(); });
    if (problem.empty()) problem = ErrorOf([this] { GoOn(); });
    if (problem.empty()) problem = ErrorOf([this] { CallOnRoom(); });
    if (!problem.empty()) {
      ErrorOf([&] { EndWith(problem); });
      ErrorOf([this] { CallOnRoom(); });
    }
    state_.callback_thread = std::thread::id();
    if (live_->is_over()) done.swap(state_.on_update);
  }
  state_.changed.notify_all();
}

// Without a chunk, stable text is news after a Restore or a Fork, whose first update repeats it.
bool BatchEntry::has_news() const {
  return update_.num_stable_tokens > 0 || has_chunk_ || finalizes_ || update_.is_final ||
         !update_.utterances.empty() || (preview_ && !is_repeated_);
}

void BatchEntry::Publish() {
  {
    const std::lock_guard<std::mutex> lock(state_.mutex);
    if (state_.audio.is_over()) return;
    if (has_news() && state_.is_polled) Store();
    if (update_.is_final) {
      state_.audio.Close();
      state_.self.reset();
    }
  }
  if (update_.is_final) state_.pool->Remove(live_.get());
  if (has_news() && state_.on_update && !state_.IsCancelled()) state_.on_update(*live_, update_);
}

void BatchEntry::Store() {
  if (state_.pending) {
    state_.pending->Append(update_);
  } else {
    state_.pending = update_;
  }
}

// From here on another worker may have the stream. It cannot publish before this one is done.
void BatchEntry::GoOn() {
  const std::lock_guard<std::mutex> lock(state_.mutex);
  state_.phase = Phase::kWaiting;
  state_.wanted = wanted_;
  state_.QueueIfReady(live_.get());
}

void BatchEntry::CallOnRoom() {
  std::function<void()> on_room;
  {
    const std::lock_guard<std::mutex> lock(state_.mutex);
    on_room = state_.TakeRoomCallback();
  }
  if (on_room) on_room();
}

// Without the decoder, which another worker may have.
void BatchEntry::EndWith(const std::string& error) {
  const LiveUpdate last = ErrorAfter(update_, error);
  {
    const std::lock_guard<std::mutex> lock(state_.mutex);
    state_.audio.Fail();
    if (!state_.audio.Close()) return;
    state_.self.reset();
    if (state_.is_polled && state_.pending) {
      state_.pending->is_final = true;
      state_.pending->error = last.error;
    } else if (state_.is_polled) {
      state_.pending = last;
    }
  }
  state_.pool->Remove(live_.get());
  if (state_.on_update) state_.on_update(*live_, last);
}

void BatchEntry::Charge(double seconds) const {
  state_.pool->queue().Charge(state_.account, seconds - expected_s_);
}

}  // namespace runnel
