#include "runtime/live_stream.h"

#include <algorithm>
#include <chrono>
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
  State& s = *state_;
  const std::lock_guard<std::mutex> lock(s.mutex);
  if (s.phase == State::Phase::kOver || !s.overflow.empty()) return 0;
  if (s.finish_requested) throw std::invalid_argument("samples after Finish, expected none");
  const size_t taken = std::min(count, s.Room());
  if (taken > 0) {
    s.waiting.Append(samples, taken);
    s.num_samples += static_cast<int64_t>(taken);
    s.arrivals.Add(s.num_samples, s.pool->now());
  }
  if (taken < count && s.NumHeld() >= s.capacity &&
      s.options.chunk_size == StreamOptions::kWholeUtterance) {
    // A whole utterance is decoded after Finish only, so there will never be room again.
    s.overflow = "the utterance is longer than max_buffered_s, " +
                 std::to_string(s.pool->max_buffered_s()) + " s; expected a shorter one or chunks";
  }
  s.QueueIfReady(this);
  return taken;
}

size_t LiveStream::Room() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->Room();
}

void LiveStream::NotifyRoom(std::function<void()> on_room) {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (!state_->HasMuchRoom()) {
      state_->on_room = std::move(on_room);
      return;
    }
  }
  on_room();
}

void LiveStream::Finish() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->phase == State::Phase::kOver || state_->finish_requested) return;
  state_->finish_requested = true;
  state_->finished_at = state_->pool->now();
  state_->self = shared_from_this();
  state_->QueueIfReady(this);
}

void LiveStream::FinalizeUtterance() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->phase == State::Phase::kOver || state_->finish_requested) return;
  std::deque<State::Finalization>& waiting = state_->finalizations;
  if (!waiting.empty() && waiting.back().end == state_->num_samples) {
    ++waiting.back().num_calls;
    return;
  }
  waiting.push_back({state_->num_samples, state_->pool->now()});
  state_->QueueIfReady(this);
}

bool LiveStream::is_finalizing() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return !state_->finalizations.empty();
}

void LiveStream::Cancel() {
  std::shared_ptr<LiveStream> self;
  std::function<void()> on_room;
  bool was_live = false;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    was_live = state_->phase != State::Phase::kOver;
    state_->phase = State::Phase::kOver;
    state_->cancelled = true;
    state_->waiting = SampleQueue();
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
  return state_->phase == State::Phase::kOver;
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
  const auto there = [this] { return state_->pending || state_->phase == State::Phase::kOver; };
  // A longer time would overflow the clock.
  constexpr double kLongestMs = 1e9;
  const std::chrono::duration<double, std::milli> timeout(
      timeout_ms > 0 ? std::min(timeout_ms, kLongestMs) : 0);
  state_->changed.wait_for(lock, timeout, there);
  return state_->pending.has_value();
}

namespace {

// A copy of the decoder that has also received the samples that wait.
Stream WithWaiting(LiveStream::State* state) {
  const DecoderLock decoder_lock(state);
  SampleQueue waiting;
  std::deque<LiveStream::State::Finalization> finalizations;
  bool finished = false;
  {
    const std::lock_guard<std::mutex> lock(state->mutex);
    if (state->cancelled) throw std::invalid_argument("the stream is cancelled");
    waiting = state->waiting;
    finalizations = state->finalizations;
    finished = state->finish_requested;
  }
  Stream stream = state->stream;
  const auto accept = [&](size_t count) {
    const std::vector<float> samples = waiting.Take(count);
    if (count > 0) stream.AcceptSamples(samples.data(), count);
  };
  for (const auto& finalization : finalizations) {
    accept(static_cast<size_t>(finalization.end - stream.num_samples()));
    try {
      stream.FinalizeUtterance();
    } catch (const std::runtime_error&) {
      // failure() says why; the copy ends with it when it goes on.
    }
  }
  accept(waiting.size());
  if (finished && !stream.finished()) stream.Finish();
  return stream;
}

}  // namespace

std::string LiveStream::Snapshot(int64_t* first_utterance) {
  const Stream stream = WithWaiting(state_.get());
  if (first_utterance != nullptr) *first_utterance = stream.first_utterance();
  return stream.Snapshot();
}

std::shared_ptr<LiveStream> LiveStream::Fork(UpdateCallback on_update) {
  return MakeLiveStream(state_->pool, WithWaiting(state_.get()), std::move(on_update));
}

int64_t LiveStream::num_samples() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->num_samples;
}

const StreamOptions& LiveStream::options() const { return state_->options; }

}  // namespace runnel
