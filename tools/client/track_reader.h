// Reads a recording in its own thread, so that waiting for a microphone does not block the
// connection.
#ifndef RUNNEL_TOOLS_CLIENT_TRACK_READER_H_
#define RUNNEL_TOOLS_CLIENT_TRACK_READER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/client/audio_track.h"
#include "tools/client/event_loop.h"

namespace runnel::client {

class TrackReader {
 public:
  // Opens the recording as OpenAudio does and starts reading it into track(), in pieces of
  // `packet_ms`. Throws as AudioSource does. `on_audio` is called in the loop when the track has
  // grown or is complete, `on_error` with the reason when reading fails; neither is called after
  // the destructor.
  TrackReader(EventLoop* loop, const std::string& path, int sample_rate_hz, SampleEncoding encoding,
              double packet_ms, std::function<void()> on_audio,
              std::function<void(const std::string&)> on_error);
  // Must be called in the loop's thread. A thread that waits for standard input cannot be woken and
  // is left behind.
  ~TrackReader();
  TrackReader(const TrackReader&) = delete;
  TrackReader& operator=(const TrackReader&) = delete;

  std::shared_ptr<const AudioTrack> track() const;

  // AudioSource::Warnings, when the track is complete.
  const std::vector<std::string>& warnings() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_TRACK_READER_H_
