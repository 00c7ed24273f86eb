#include "runtime/recognizer_core.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "encoder/first_line.h"
#include "runtime/threads.h"

namespace runnel {
namespace {

using Clock = LiveStream::State::Clock;
using Phase = LiveStream::State::Phase;

double Milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

Clock::duration FromMilliseconds(double milliseconds) {
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double, std::milli>(milliseconds));
}

// Whether a stream's chunks take so long that others should not wait for them.
bool HasLongChunks(const StreamOptions& options) {
  constexpr int64_t kLongChunk = 64;  // encoder frames
  return options.chunk_size == StreamOptions::kWholeUtterance || options.chunk_size > kLongChunk;
}

}  // namespace

// What a batch does for one stream: feed, decode, describe, deliver, in this order.
struct RecognizerCore::Turn {
  explicit Turn(std::shared_ptr<LiveStream> live_stream)
      : live(std::move(live_stream)), state(*live->state_), claim(&state) {}

  // Gives the decoder the samples of its next chunk. False when the stream was cancelled.
  bool Feed(Clock::time_point now);
  // What came out of it; gives the decoder back.
  void Describe();
  void DescribeText();
  // Tells the owner, and queues up again or ends.
  void Deliver();

  std::shared_ptr<LiveStream> live;
  LiveStream::State& state;
  DecoderClaim claim;
  Clock::time_point arrival;  // of the chunk's last sample
  int64_t frames_before = 0;  // encoder frames
  double advanced_ms = 0;     // audio of the chunk
  bool has_chunk = false;
  std::string error;
  size_t wanted = 0;
  double queue_ms = 0;
  double chunk_ms = 0;
  LiveUpdate update;
};

bool RecognizerCore::Turn::Feed(Clock::time_point now) {
  Stream& stream = state.stream;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    if (state.phase == Phase::kOver) return false;
    state.phase = Phase::kDecoding;
    arrival = state.queued_at;
    error = state.overflow;
  }
  frames_before = stream.num_encoder_frames();
  bool more = error.empty();
  while (more && !stream.ChunkReady() && !stream.finished()) {
    const size_t needed = state.SamplesWanted();
    std::vector<float> samples;
    bool finish = false;
    {
      const std::lock_guard<std::mutex> lock(state.mutex);
      const bool enough = needed <= state.waiting.size() || state.finish_requested;
      const size_t count = enough ? std::min(needed, state.waiting.size()) : 0;
      const auto end = state.num_samples - static_cast<int64_t>(state.waiting.size() - count);
      if (count > 0) {
        arrival = state.arrivals.TimeOf(end - 1);
        state.arrivals.Forget(end);
        samples = state.waiting.Take(count);
      }
      finish = state.finish_requested && state.waiting.size() == 0;
      if (finish) arrival = state.finished_at;
      more = count > 0;
    }
    try {
      if (!samples.empty()) stream.AcceptSamples(samples.data(), samples.size());
      if (finish) stream.Finish();
    } catch (const std::exception& failed) {  // a sample that is no number; or no memory
      error = failed.what();
      more = false;
    }
  }
  has_chunk = error.empty() && stream.ChunkReady();
  // The end may have come since the batch started.
  queue_ms = std::max(0.0, Milliseconds(now - arrival));
  return true;
}

void RecognizerCore::Turn::Describe() {
  const Stream& stream = state.stream;
  if (error.empty()) error = stream.failure();
  const double frame_ms = stream.model().encoder_frame_ms();
  advanced_ms = static_cast<double>(stream.num_encoder_frames() - frames_before) * frame_ms;
  chunk_ms = Milliseconds(Clock::now() - arrival);
  update.audio_ms = static_cast<double>(stream.num_encoder_frames()) * frame_ms;
  if (has_chunk) {
    update.accepted_at = arrival;
    update.latency_ms = chunk_ms;
  }
  try {
    DescribeText();
    wanted = state.SamplesWanted();
  } catch (const std::exception& failed) {  // no memory
    error = failed.what();
  }
  update.error = FirstLine(error);
  update.is_final = update.is_final || !update.error.empty();
  claim.Release();
}

void RecognizerCore::Turn::DescribeText() {
  const Stream& stream = state.stream;
  const size_t stable_size = stream.StableTextSize();
  const std::string text = stream.TextSince(state.seen_text);
  update.stable_size_before = state.seen_text;
  update.stable_text = text.substr(0, stable_size - state.seen_text);
  update.tentative_text = text.substr(stable_size - state.seen_text);
  update.tokens = stream.TokensSince(state.seen_tokens);
  update.num_stable_tokens = stream.NumStableTokens() - state.seen_tokens;
  state.seen_text = stable_size;
  state.seen_tokens = stream.NumStableTokens();
  update.is_final = stream.IsFinal();
  if (update.is_final) update.nbest = stream.NBest(state.nbest);
}

void RecognizerCore::Turn::Deliver() {
  const bool tells = has_chunk || update.is_final;
  std::shared_ptr<LiveStream> self;
  bool is_live = true;
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    is_live = state.phase != Phase::kOver;
    if (is_live && update.is_final) {
      state.phase = Phase::kOver;
      state.waiting = SampleQueue();
      self.swap(state.self);
    }
    if (is_live && tells && state.is_polled) {
      if (state.pending) {
        state.pending->Append(update);
      } else {
        state.pending = update;
      }
    }
  }
  if (is_live && update.is_final) state.core->Remove(live.get());
  UpdateCallback done;  // what it holds may be the stream itself
  {
    // Whoever cancels the stream waits for this.
    const std::lock_guard<std::mutex> running(state.callback_mutex);
    state.callback_thread = std::this_thread::get_id();
    if (tells && state.on_update && !state.IsCancelled()) state.on_update(*live, update);
    if (const std::function<void()> on_room = state.TakeRoomCallback()) on_room();
    state.callback_thread = std::thread::id();
    if (update.is_final || state.IsCancelled()) done.swap(state.on_update);
  }
  {
    const std::lock_guard<std::mutex> lock(state.mutex);
    if (state.phase == Phase::kDecoding) {
      state.phase = Phase::kWaiting;
      state.wanted = wanted;
      state.core->QueueIfReady(live.get());
    }
  }
  state.changed.notify_all();
}

RecognizerCore::RecognizerCore(std::shared_ptr<const Model> model, const RecognizerOptions& options)
    : model_(std::move(model)),
      options_(options),
      queue_(static_cast<size_t>(options.max_batch_streams),
             FromMilliseconds(options.max_batch_wait_ms)) {}

void RecognizerCore::Start() {
  for (int i = 0; i < options_.num_threads; ++i) {
    workers_.emplace_back([self = shared_from_this()] { self->Work(); });
  }
}

void RecognizerCore::Stop() {
  is_stopping_ = true;
  queue_.Stop();
  ExitGate::OfProcess().WakeUp();
  for (std::thread& worker : workers_) {
    // A callback that calls exit() with a static Recognizer is itself on its way out.
    if (worker.get_id() == std::this_thread::get_id()) {
      worker.detach();
    } else {
      worker.join();
    }
  }
  std::vector<std::shared_ptr<LiveStream>> left;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
    for (const auto& [address, stream] : streams_) {
      if (std::shared_ptr<LiveStream> live = stream.lock()) left.push_back(std::move(live));
    }
  }
  for (const std::shared_ptr<LiveStream>& live : left) live->Cancel();
}

std::shared_ptr<LiveStream> RecognizerCore::Add(Stream stream, UpdateCallback on_update,
                                                int nbest) {
  if (nbest < 1) {
    throw std::invalid_argument("nbest is " + std::to_string(nbest) + ", expected at least 1");
  }
  const bool finished = stream.finished();
  const int64_t num_samples = stream.num_samples();
  auto live = std::make_shared<LiveStream>(std::make_unique<LiveStream::State>(
      shared_from_this(), std::move(stream), std::move(on_update), nbest));
  LiveStream::State& state = *live->state_;
  state.num_samples = num_samples;
  state.wanted = state.SamplesWanted();
  if (state.options.chunk_size != StreamOptions::kWholeUtterance && state.wanted > state.capacity) {
    std::ostringstream message;
    message << "a chunk of " << state.options.chunk_size << " encoder frames needs " << state.wanted
            << " samples, expected at most max_buffered_s, " << options_.max_buffered_s << " s";
    throw std::invalid_argument(message.str());
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (stopped_) throw std::invalid_argument("the Recognizer of this stream is gone");
    streams_.emplace(live.get(), live);
  }
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (finished) {
    state.finish_requested = true;
    state.finished_at = Clock::now();
    state.self = live;
  }
  QueueIfReady(live.get());
  return live;
}

void RecognizerCore::QueueIfReady(LiveStream* stream) {
  LiveStream::State& state = *stream->state_;
  if (state.phase != Phase::kWaiting) return;
  if (state.waiting.size() < state.wanted && !state.finish_requested && state.overflow.empty()) {
    return;
  }
  state.phase = Phase::kQueued;
  state.queued_at = Clock::now();
  queue_.Push(stream->weak_from_this());
}

void RecognizerCore::Remove(const LiveStream* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  streams_.erase(stream);
}

void RecognizerCore::Work() {
  ExitGate::Pass pass(&ExitGate::OfProcess(), &is_stopping_);
  if (pass.is_inside()) SetThreadsPerOperation(1);
  while (true) {
    pass.StepOut();
    const std::vector<std::weak_ptr<LiveStream>> batch = queue_.Take();
    if (batch.empty()) return;
    pass.StepIn();
    if (pass.is_inside()) RunBatch(batch, &pass);
  }
}

void RecognizerCore::RunBatch(const std::vector<std::weak_ptr<LiveStream>>& batch,
                              ExitGate::Pass* pass) {
  std::vector<std::shared_ptr<LiveStream>> together;
  std::vector<std::shared_ptr<LiveStream>> alone;
  for (const std::weak_ptr<LiveStream>& queued : batch) {
    std::shared_ptr<LiveStream> live = queued.lock();
    if (live == nullptr) continue;
    (HasLongChunks(live->options()) ? alone : together).push_back(std::move(live));
  }
  Decode(std::move(together), pass);
  // One after another and last: who asked for short chunks does not wait for them. Claimed only
  // then: a callback of an earlier one may want a snapshot of a later one.
  for (std::shared_ptr<LiveStream>& live : alone) {
    if (!pass->is_inside()) return;  // the process exits
    Decode({std::move(live)}, pass);
  }
}

void RecognizerCore::Decode(std::vector<std::shared_ptr<LiveStream>> batch, ExitGate::Pass* pass) {
  const Clock::time_point start = Clock::now();
  std::vector<Turn> turns;
  for (std::shared_ptr<LiveStream>& live : batch) {
    Turn turn(std::move(live));
    if (turn.Feed(start)) turns.push_back(std::move(turn));
  }
  std::string error;
  std::vector<Stream*> streams;
  for (Turn& turn : turns) {
    if (turn.has_chunk) streams.push_back(&turn.state.stream);
  }
  try {
    if (!streams.empty()) DecodeChunks(streams);
  } catch (const std::exception& failed) {  // the streams are half advanced
    error = failed.what();
  }
  for (Turn& turn : turns) {
    if (turn.has_chunk) turn.error = error;
    turn.Describe();
  }
  const double compute_ms = Milliseconds(Clock::now() - start);
  pass->StepOut();  // callbacks
  if (!streams.empty()) Report(turns, compute_ms);
  for (Turn& turn : turns) turn.Deliver();
  pass->StepIn();
}

void RecognizerCore::Report(const std::vector<Turn>& turns, double compute_ms) {
  BatchReport report;
  report.compute_ms = compute_ms;
  for (const Turn& turn : turns) {
    if (!turn.has_chunk) continue;
    report.queue_ms.push_back(turn.queue_ms);
    report.chunk_ms.push_back(turn.chunk_ms);
    report.audio_s += turn.advanced_ms / 1000;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++totals_.num_batches;
    totals_.num_chunks += static_cast<int64_t>(report.chunk_ms.size());
    totals_.audio_s += report.audio_s;
    totals_.compute_s += compute_ms / 1000;
    for (const double duration : report.queue_ms) queue_ms_.Add(duration);
    for (const double duration : report.chunk_ms) chunk_ms_.Add(duration);
  }
  if (options_.on_batch) options_.on_batch(report);
}

RecognizerStatus RecognizerCore::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  RecognizerStatus status = totals_;
  status.num_streams = static_cast<int64_t>(streams_.size());
  status.queued_streams = static_cast<int64_t>(queue_.size());
  status.queue_ms_p50 = queue_ms_.QuantileMs(0.5);
  status.queue_ms_p95 = queue_ms_.QuantileMs(0.95);
  status.chunk_ms_p50 = chunk_ms_.QuantileMs(0.5);
  status.chunk_ms_p95 = chunk_ms_.QuantileMs(0.95);
  status.chunk_ms_p99 = chunk_ms_.QuantileMs(0.99);
  return status;
}

}  // namespace runnel
