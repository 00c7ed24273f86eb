// The functions of runtime/c_api.h for live streams and snapshots.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "runtime/c_api.h"
#include "runtime/c_api/call.h"
#include "runtime/c_api/handles.h"
#include "runtime/live_stream.h"

using runnel::LiveStream;
using runnel::LiveUpdate;
using runnel::c_api::Call;
using runnel::c_api::NotNull;

namespace {

LiveStream& Live(runnel_stream* stream) { return *NotNull(stream, "stream").live; }

// Sets *update to what there is to poll, or to null.
void Poll(LiveStream* live, runnel_update** update) {
  auto polled = std::make_unique<LiveUpdate>();
  if (live->Poll(polled.get())) *update = runnel::c_api::GiveToC(std::move(polled));
}

}  // namespace

void runnel_stream_close(runnel_stream* stream) {
  if (stream == nullptr || stream->owned == nullptr) return;
  runnel_stream_cancel(stream, nullptr);
  delete stream;
}

runnel_status runnel_stream_accept_float32(runnel_stream* stream, const float* samples,
                                           size_t count, size_t* accepted, runnel_error* error) {
  return Call(error, [&] {
    NotNull(accepted, "accepted") = 0;
    LiveStream& live = Live(stream);
    if (count > 0) NotNull(samples, "samples");
    *accepted = live.AcceptSamples(samples, count);
  });
}

runnel_status runnel_stream_accept_int16(runnel_stream* stream, const int16_t* samples,
                                         size_t count, size_t* accepted, runnel_error* error) {
  return Call(error, [&] {
    NotNull(accepted, "accepted") = 0;
    LiveStream& live = Live(stream);
    if (count > 0) NotNull(samples, "samples");
    // What there is no room for is not worth converting; one sample more is offered, because an
    // utterance that is too long ends in an error.
    std::vector<float> converted(std::min(count, live.Room() + 1));
    constexpr float kScale = 1.0F / 32768;
    std::transform(samples, samples + converted.size(), converted.begin(),
                   [](int16_t sample) { return static_cast<float>(sample) * kScale; });
    *accepted = live.AcceptSamples(converted.data(), converted.size());
  });
}

size_t runnel_stream_room(const runnel_stream* stream) {
  return stream == nullptr ? 0 : stream->live->Room();
}

runnel_status runnel_stream_notify_room(runnel_stream* stream, runnel_room_callback on_room,
                                        void* user_data, runnel_error* error) {
  return Call(error, [&] {
    LiveStream& live = Live(stream);
    if (on_room == nullptr) throw std::invalid_argument("on_room is NULL");
    live.NotifyRoom([on_room, user_data] { on_room(user_data); });
  });
}

runnel_status runnel_stream_finalize_utterance(runnel_stream* stream, runnel_error* error) {
  return Call(error, [&] { NotNull(stream, "stream").live->FinalizeUtterance(); });
}

runnel_status runnel_stream_finish(runnel_stream* stream, runnel_error* error) {
  return Call(error, [&] { Live(stream).Finish(); });
}

runnel_status runnel_stream_cancel(runnel_stream* stream, runnel_error* error) {
  return Call(error, [&] { Live(stream).Cancel(); });
}

int32_t runnel_stream_is_over(const runnel_stream* stream) {
  return stream == nullptr || stream->live->is_over() ? 1 : 0;
}

int64_t runnel_stream_num_samples(const runnel_stream* stream) {
  return stream == nullptr ? 0 : stream->live->num_samples();
}

int32_t runnel_stream_sample_rate_hz(const runnel_stream* stream) {
  return stream == nullptr ? 0 : stream->live->options().sample_rate_hz;
}

int64_t runnel_stream_chunk_size(const runnel_stream* stream) {
  return stream == nullptr ? 0 : stream->live->options().chunk_size;
}

int64_t runnel_stream_left_context(const runnel_stream* stream) {
  return stream == nullptr ? 0 : stream->live->options().left_context;
}

int64_t runnel_stream_right_context(const runnel_stream* stream) {
  return stream == nullptr ? 0 : stream->live->options().right_context;
}

int32_t runnel_stream_cached_windows(const runnel_stream* stream) {
  return stream != nullptr && stream->live->options().cached_windows ? 1 : 0;
}

runnel_status runnel_stream_poll(runnel_stream* stream, runnel_update** update,
                                 runnel_error* error) {
  return Call(error, [&] {
    NotNull(update, "update") = nullptr;
    Poll(&Live(stream), update);
  });
}

runnel_status runnel_stream_wait(runnel_stream* stream, double timeout_ms, runnel_update** update,
                                 runnel_error* error) {
  return Call(error, [&] {
    NotNull(update, "update") = nullptr;
    LiveStream& live = Live(stream);
    if (!(timeout_ms >= 0)) throw std::invalid_argument("timeout_ms is not a number of at least 0");
    if (live.WaitForUpdate(timeout_ms)) Poll(&live, update);
  });
}

runnel_status runnel_stream_snapshot(runnel_stream* stream, runnel_buffer** snapshot,
                                     runnel_error* error) {
  return Call(error, [&] {
    NotNull(snapshot, "snapshot") = nullptr;
    *snapshot = new runnel_buffer{Live(stream).Snapshot()};
  });
}

const uint8_t* runnel_buffer_data(const runnel_buffer* buffer) {
  return buffer == nullptr ? nullptr : reinterpret_cast<const uint8_t*>(buffer->bytes.data());
}

size_t runnel_buffer_size(const runnel_buffer* buffer) {
  return buffer == nullptr ? 0 : buffer->bytes.size();
}

void runnel_buffer_free(runnel_buffer* buffer) { delete buffer; }
