// Hands the audio of a session to its live stream.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_STREAM_FEED_H_
#define RUNNEL_TOOLS_SERVER_SESSION_STREAM_FEED_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/live_stream.h"
#include "tools/server/resources/input_budget.h"
#include "tools/server/session/session_mailbox.h"

namespace runnel::server {

// Owns the stream, and the samples of one message that the stream has no room for yet. Used by one
// thread at a time.
class StreamFeed {
 public:
  // SessionMailbox::PutRoom is called when OnRoom is to be called. `budget` counts the audio that
  // waits to be decoded.
  StreamFeed(std::shared_ptr<LiveStream> stream, std::shared_ptr<SessionMailbox> mailbox,
             InputBudget::Share budget);

  // Only while !is_holding(). False when the samples will never fit: the stream decodes the whole
  // utterance at once, and its buffer is full.
  [[nodiscard]] bool Accept(std::vector<float> samples);
  // Room may have become free, in the stream or in the budget.
  [[nodiscard]] bool OnRoom();

  // Whether samples wait for room.
  bool is_holding() const { return !held_.empty(); }
  // Whether they wait for room in the budget, which nobody announces.
  bool is_over_budget() const { return is_over_budget_; }

  const std::shared_ptr<LiveStream>& stream() const { return stream_; }

 private:
  bool Offer();
  // Whether the budget has room for the samples of the stream and `num_more`.
  bool MayHold(size_t num_more);

  const std::shared_ptr<LiveStream> stream_;
  const std::shared_ptr<SessionMailbox> mailbox_;
  InputBudget::Share budget_;
  std::vector<float> held_;
  size_t num_taken_ = 0;  // of held_
  bool is_over_budget_ = false;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_STREAM_FEED_H_
