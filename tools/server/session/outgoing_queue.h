// The messages of a session that wait to be sent to its client.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_OUTGOING_QUEUE_H_
#define RUNNEL_TOOLS_SERVER_SESSION_OUTGOING_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

namespace runnel::server {

// What SessionLatency needs to know about a message with a partial or final result.
struct ResultInfo {
  // When the last sample of a chunk was accepted: of the oldest chunk whose text this message is
  // the first to contain. Empty when the message contains no new chunk.
  std::optional<std::chrono::steady_clock::time_point> chunk_accepted;
  bool has_text = false;  // the transcript up to here is not empty
  bool is_final = false;
};

struct OutgoingMessage {
  std::string text;
  std::optional<ResultInfo> result;  // empty: the message is no result
  bool is_snapshot = false;          // tells the client the token of a new snapshot
};

// First in, first out. Used by one thread at a time.
class OutgoingQueue {
 public:
  void Push(OutgoingMessage message) {
    num_bytes_ += message.text.size();
    messages_.push_back(std::move(message));
  }

  // Empty when the queue is.
  std::optional<OutgoingMessage> Take() {
    if (messages_.empty()) return std::nullopt;
    OutgoingMessage message = std::move(messages_.front());
    messages_.pop_front();
    num_bytes_ -= message.text.size();
    return message;
  }

  void Clear() {
    messages_.clear();
    num_bytes_ = 0;
  }

  bool empty() const { return messages_.empty(); }
  // Size of all texts.
  size_t num_bytes() const { return num_bytes_; }

 private:
  std::deque<OutgoingMessage> messages_;
  size_t num_bytes_ = 0;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_OUTGOING_QUEUE_H_
