#include "runtime/live_stream.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "runtime/live/live_stream_state.h"

namespace runnel {

LiveStream::LiveStream(std::unique_ptr<State> state) : state_(std::move(state)) {}

LiveStream::~LiveStream() {
  if (!is_over()) state_->pool->Remove(this);
}

size_t LiveStream::AcceptSamples(const float* samples, size_t count) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const size_t taken = state_->audio.Accept(samples, count, state_->pool->now());
  state_->QueueIfReady(this);
  return taken;
}

size_t LiveStream::Room() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->audio.Room();
}

size_t LiveStream::num_waiting() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->audio.size();
}

bool LiveStream::is_busy() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->phase != State::Phase::kWaiting;
}

void LiveStream::NotifyRoom(std::function<void()> on_room) {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (!state_->RoomIsDue()) {
      state_->on_room = std::move(on_room);
      return;
    }
  }
  on_room();
}

void LiveStream::Finish() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (!state_->audio.Finish(state_->pool->now())) return;
  state_->self = shared_from_this();
  state_->QueueIfReady(this);
}

void LiveStream::FinalizeUtterance() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->audio.Finalize(state_->pool->now());
  state_->QueueIfReady(this);
}

bool LiveStream::is_finalizing() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->audio.is_finalizing();
}

void LiveStream::Cancel() {
  std::shared_ptr<LiveStream> self;
  std::function<void()> on_room;
  bool was_live = false;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    was_live = state_->audio.Cancel();
    state_->pending.reset();
    self.swap(state_->self);
    on_room.swap(state_->on_room);
  }
  state_->changed.notify_all();
  if (was_live) state_->pool->Remove(this);
  if (on_room) on_room();
  if (state_->callback_thread.load() != std::this_thread::get_id()) {
    UpdateCallback done;  // destroyed after the lock is given back: it may hold this stream
    const std::lock_guard<std::mutex> wait_for_callback(state_->callback_mutex);
    done.swap(state_->on_update);
  }
}

bool LiveStream::is_over() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->audio.is_over();
}

bool LiveStream::Poll(LiveUpdate* update) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (!state_->pending) return false;
  *update = *std::move(state_->pending);
  state_->pending.reset();
  return true;
}

bool LiveStream::WaitForUpdate(double timeout_ms) {
  std::unique_lock<std::mutex> lock(state_->mutex);
  const auto there = [this] { return state_->pending || state_->audio.is_over(); };
  // A longer time would overflow the clock.
  constexpr double kLongestWaitMs = 1e9;
  const std::chrono::duration<double, std::milli> timeout(
      timeout_ms > 0 ? std::min(timeout_ms, kLongestWaitMs) : 0);
  state_->changed.wait_for(lock, timeout, there);
  return state_->pending.has_value();
}

namespace {

// A copy of the decoder that has also received the samples that wait.
Stream WithWaiting(LiveStream::State* state) {
  const DecoderLock decoder_lock(state);
  std::optional<WaitingAudio> audio;
  {
    const std::lock_guard<std::mutex> lock(state->mutex);
    audio = state->audio;
  }
  if (audio->is_cancelled()) throw std::invalid_argument("the stream is cancelled");
  if (audio->has_failed()) throw std::invalid_argument("the stream has ended with an error");
  Stream stream = state->stream;
  // All samples up to the next point, whatever their number.
  constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();
  using Step = WaitingAudio::Step;
  for (Step step = Step::kSamples; step == Step::kSamples || step == Step::kFinalize;) {
    const WaitingAudio::Next next = audio->Take(kAnyNumber, 0);
    step = next.step;
    if (!next.samples.empty()) stream.AcceptSamples(next.samples.data(), next.samples.size());
    if (step == Step::kFinish && !stream.finished()) stream.Finish();
    if (step != Step::kFinalize) continue;
    try {
      stream.FinalizeUtterance();
    } catch (const std::runtime_error&) {
      // failure() says why; the copy ends with it when it goes on.
    }
  }
  return stream;
}

}  // namespace

std::string LiveStream::Snapshot(int64_t* first_utterance) {
  const Stream stream = WithWaiting(state_.get());
  if (first_utterance != nullptr) *first_utterance = stream.first_utterance();
  return stream.Snapshot();
}

std::shared_ptr<LiveStream> LiveStream::Fork(UpdateCallback on_update) {
  return MakeLiveStream(state_->pool, WithWaiting(state_.get()), std::move(on_update),
                        state_->account);
}

int64_t LiveStream::num_samples() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->audio.num_samples();
}

const StreamOptions& LiveStream::options() const { return state_->options; }

}  // namespace runnel
