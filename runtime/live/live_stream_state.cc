#include "runtime/live/live_stream_state.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace runnel {
namespace {

WaitingAudio AudioAfter(const Stream& stream, double max_buffered_s) {
  const StreamOptions& options = stream.options();
  return WaitingAudio(static_cast<size_t>(max_buffered_s * options.sample_rate_hz),
                      options.chunk_size == StreamOptions::kWholeUtterance
                          ? WaitingAudio::Counted::kAccepted
                          : WaitingAudio::Counted::kWaiting,
                      stream.num_samples());
}

}  // namespace

LiveStream::State::State(std::shared_ptr<StreamPool> stream_pool, Stream decoder,
                         UpdateCallback callback, std::string whose)
    : pool(std::move(stream_pool)),
      is_polled(!callback),
      options(decoder.options()),
      account(std::move(whose)),
      samples_per_frame(decoder.model().encoder_frame_ms() / 1000 * options.sample_rate_hz),
      stream(std::move(decoder)),
      audio(AudioAfter(stream, pool->max_buffered_s())),
      on_update(std::move(callback)) {}

size_t LiveStream::State::SamplesWanted() const {
  if (options.chunk_size == StreamOptions::kWholeUtterance && !stream.finished()) {
    return std::numeric_limits<size_t>::max();
  }
  return static_cast<size_t>(stream.MinSamplesToChunk());
}

int64_t LiveStream::State::NextPreview() const {
  const int64_t num_decoded = stream.num_encoder_frames();
  // An interval longer than a chunk is as one of a chunk: there are no previews.
  const int64_t interval = std::min(options.early_text.interval, options.chunk_size);
  const int64_t num_previewed = std::max<int64_t>(0, previewed - num_decoded);
  return num_decoded + (num_previewed / interval + 1) * interval;
}

size_t LiveStream::State::SamplesToPreview() const {
  const size_t to_chunk = SamplesWanted();
  if (options.early_text.interval == 0 || stream.finished()) return to_chunk;
  const int64_t count = NextPreview() - stream.num_encoder_frames();
  const int64_t to_decode = options.chunk_size + std::max<int64_t>(0, options.right_context);
  if (options.chunk_size != StreamOptions::kWholeUtterance && count >= to_decode) return to_chunk;
  return std::min(to_chunk, static_cast<size_t>(stream.MinSamplesTo(count)));
}

void LiveStream::State::QueueIfReady(LiveStream* live) {
  if (phase == Phase::kQueued) return pool->queue().Hurry(account, StepKind(), &ticket);
  if (phase != Phase::kWaiting || audio.is_over()) return;
  if (!audio.IsDue(wanted) && !has_undelivered) return;
  queued_at = pool->now();
  expected_s = pool->rate().SecondsFor(NextStepSize());
  ticket = pool->queue().Push(live->weak_from_this(), account, expected_s, StepKind());
  phase = Phase::kQueued;
}

StreamPool::Queue::Kind LiveStream::State::StepKind() const {
  using Kind = StreamPool::Queue::Kind;
  const std::optional<size_t> left = audio.SamplesToEnd();
  // A whole utterance is a step of any size, which shares no batch.
  if (options.chunk_size == StreamOptions::kWholeUtterance) {
    return left ? Kind::kLateChunk : Kind::kChunk;
  }
  const auto chunk_samples = static_cast<double>(options.chunk_size) * samples_per_frame;
  const auto samples_with = [&](int num_more) {
    return static_cast<double>(wanted) + num_more * chunk_samples;
  };
  if (left && static_cast<double>(*left) <= samples_with(2)) return Kind::kEnd;
  const bool has_next = static_cast<double>(audio.size()) >= samples_with(1);
  return has_next || audio.Room() == 0 ? Kind::kLateChunk : Kind::kChunk;
}

double LiveStream::State::NextStepSize() const {
  const int64_t num_frames =
      options.chunk_size == StreamOptions::kWholeUtterance
          ? static_cast<int64_t>(static_cast<double>(audio.num_samples()) / samples_per_frame)
          : options.chunk_size;
  return StepSize(num_frames, options);
}

bool LiveStream::State::RoomIsDue() const {
  return audio.is_over() || phase == Phase::kWaiting || audio.HasMuchRoom();
}

std::function<void()> LiveStream::State::TakeRoomCallback() {
  std::function<void()> taken;
  if (RoomIsDue()) taken.swap(on_room);
  return taken;
}

bool LiveStream::State::IsCancelled() const {
  const std::lock_guard<std::mutex> lock(mutex);
  return audio.is_cancelled();
}

DecoderLock::DecoderLock(LiveStream::State* state) : state_(state) {
  std::unique_lock<std::mutex> lock(state->mutex);
  state->changed.wait(lock, [state] { return !state->decoder_locked; });
  state->decoder_locked = true;
}

void DecoderLock::Release() {
  if (state_ == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->decoder_locked = false;
  }
  state_->changed.notify_all();
  state_ = nullptr;
}

std::shared_ptr<LiveStream> MakeLiveStream(const std::shared_ptr<StreamPool>& pool, Stream stream,
                                           UpdateCallback on_update, std::string account) {
  const bool finished = stream.finished();
  auto owned_state = std::make_unique<LiveStream::State>(pool, std::move(stream),
                                                         std::move(on_update), std::move(account));
  LiveStream::State& state = *owned_state;
  state.seen_begin = state.stream.text_begin();
  const int64_t num_ended = state.stream.utterance_index() + (state.stream.IsFinal() ? 1 : 0);
  state.has_undelivered = state.stream.first_utterance() < num_ended;
  state.previewed = state.stream.num_encoder_frames();
  state.wanted = state.SamplesToPreview();
  if (state.options.chunk_size != StreamOptions::kWholeUtterance &&
      state.SamplesWanted() > state.audio.capacity()) {
    std::ostringstream message;
    message << "a chunk of " << state.options.chunk_size << " encoder frames needs "
            << state.SamplesWanted() << " samples, expected at most max_buffered_s, "
            << pool->max_buffered_s() << " s";
    throw std::invalid_argument(message.str());
  }
  auto live = std::make_shared<LiveStream>(std::move(owned_state));
  pool->Add(live, state.account);
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (finished) {
    state.audio.Finish(pool->now());
    state.self = live;
  }
  state.QueueIfReady(live.get());
  return live;
}

}  // namespace runnel
