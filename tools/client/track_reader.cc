#include "tools/client/track_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "frontend/audio_source.h"

namespace runnel::client {

// Shared with the thread, which may outlive the reader. The loop and the callbacks are used only
// while the reader exists.
struct TrackReader::State {
  State(EventLoop* event_loop, const std::string& path, int sample_rate_hz, SampleEncoding encoding)
      : source(OpenAudio(path, sample_rate_hz, encoding)), loop(event_loop) {}

  // Calls `change` in the loop. False when the reader is gone.
  bool Post(const std::shared_ptr<State>& self, std::function<void()> change) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (is_over) return false;
    loop->Post([self, change = std::move(change)] {
      if (!self->is_over) change();  // only this thread writes is_over
    });
    return true;
  }

  AudioSource source;  // used by the thread
  std::thread thread;
  std::shared_ptr<AudioTrack> track;  // used in the loop, as what follows
  std::vector<std::string> warnings;
  std::function<void()> on_audio;
  std::function<void(const std::string&)> on_error;
  std::mutex mutex;
  EventLoop* const loop;
  bool is_over = false;  // guarded by the mutex
};

namespace {

template <typename State>
void ReadAll(const std::shared_ptr<State>& state, size_t packet_samples) {
  try {
    for (;;) {
      std::vector<float> packet(packet_samples);
      packet.resize(state->source.Read(packet.data(), packet.size()));
      const bool is_end = packet.size() < packet_samples;
      State* const raw = state.get();
      std::vector<std::string> warnings;
      if (is_end) warnings = state->source.Warnings();
      const bool is_wanted = state->Post(
          state, [raw, packet = std::move(packet), is_end, warnings = std::move(warnings)] {
            raw->track->Append(packet);
            raw->warnings = warnings;
            if (is_end) raw->track->SetComplete();
            raw->on_audio();
          });
      if (is_end || !is_wanted) return;
    }
  } catch (const std::exception& error) {
    State* const raw = state.get();
    state->Post(state, [raw, message = std::string(error.what())] { raw->on_error(message); });
  }
}

}  // namespace

TrackReader::TrackReader(EventLoop* loop, const std::string& path, int sample_rate_hz,
                         SampleEncoding encoding, double packet_ms, std::function<void()> on_audio,
                         std::function<void(const std::string&)> on_error)
    : state_(std::make_shared<State>(loop, path, sample_rate_hz, encoding)) {
  const int rate_hz = state_->source.rate_hz();
  state_->track = std::make_shared<AudioTrack>(rate_hz);
  state_->on_audio = std::move(on_audio);
  state_->on_error = std::move(on_error);
  const auto packet_samples =
      static_cast<size_t>(std::max(1LL, std::llround(rate_hz * packet_ms / 1000)));
  std::thread thread([state = state_, packet_samples] { ReadAll(state, packet_samples); });
  if (path == "-") {
    thread.detach();
  } else {
    state_->thread = std::move(thread);
  }
}

TrackReader::~TrackReader() {
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->is_over = true;
  }
  if (state_->thread.joinable()) state_->thread.join();
}

const std::vector<std::string>& TrackReader::warnings() const { return state_->warnings; }

std::shared_ptr<const AudioTrack> TrackReader::track() const { return state_->track; }

}  // namespace runnel::client
