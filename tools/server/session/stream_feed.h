// Hands the audio of a session to its live stream.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_STREAM_FEED_H_
#define RUNNEL_TOOLS_SERVER_SESSION_STREAM_FEED_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/live_stream.h"
#include "tools/server/session/session_mailbox.h"

namespace runnel::server {

// Owns the stream, and the samples of one message that the stream has no room for yet. Used by one
// thread at a time.
class StreamFeed {
 public:
  // SessionMailbox::PutRoom is called when OnRoom is to be called.
  StreamFeed(std::shared_ptr<LiveStream> stream, std::shared_ptr<SessionMailbox> mailbox);

  // Only while !is_holding(). False when the samples will never fit: the stream decodes the whole
  // utterance at once, and its buffer is full.
  [[nodiscard]] bool Accept(std::vector<float> samples);
  [[nodiscard]] bool OnRoom();

  // Whether samples wait for room.
  bool is_holding() const { return !held_.empty(); }

  const std::shared_ptr<LiveStream>& stream() const { return stream_; }

 private:
  bool Offer();

  const std::shared_ptr<LiveStream> stream_;
  const std::shared_ptr<SessionMailbox> mailbox_;
  std::vector<float> held_;
  size_t num_taken_ = 0;  // of held_
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_STREAM_FEED_H_
