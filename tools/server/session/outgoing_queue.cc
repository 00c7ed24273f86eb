#include "tools/server/session/outgoing_queue.h"

#include <utility>

namespace runnel::server {

void OutgoingQueue::Push(OutgoingMessage message) {
  num_bytes_ += message.text.size();
  messages_.push_back(std::move(message));
}

std::optional<OutgoingMessage> OutgoingQueue::Take() {
  if (messages_.empty()) return std::nullopt;
  OutgoingMessage message = std::move(messages_.front());
  messages_.pop_front();
  num_bytes_ -= message.text.size();
  return message;
}

void OutgoingQueue::Clear() {
  messages_.clear();
  num_bytes_ = 0;
}

}  // namespace runnel::server
