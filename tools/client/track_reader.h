// Reads a recording in a thread of its own, so that a microphone's pipe does not stop the
// connection. Flow: packets -> frontend -> encoder -> runtime -> tools (this, below stream_client).
#ifndef RUNNEL_TOOLS_CLIENT_TRACK_READER_H_
#define RUNNEL_TOOLS_CLIENT_TRACK_READER_H_

#include <functional>
#include <memory>
#include <string>

#include "tools/client/audio_track.h"
#include "tools/client/event_loop.h"

namespace runnel::client {

class TrackReader {
 public:
  // Opens the recording and starts reading it, in pieces of `packet_ms`, into track(). Throws as
  // AudioSource does. In the loop, `on_audio` is called when the track has grown or is complete,
  // and `on_error` with the reason when it cannot be read to its end; never after the destructor.
  TrackReader(EventLoop* loop, const std::string& path, int sample_rate_hz, SampleEncoding encoding,
              double packet_ms, std::function<void()> on_audio,
              std::function<void(const std::string&)> on_error);
  // To be called in the loop's thread. Leaves a thread behind that waits for standard input, which
  // nothing can wake.
  ~TrackReader();
  TrackReader(const TrackReader&) = delete;
  TrackReader& operator=(const TrackReader&) = delete;

  std::shared_ptr<const AudioTrack> track() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_TRACK_READER_H_
