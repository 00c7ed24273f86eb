#include "tools/server/session/stream_feed.h"

#include <utility>

#include "tools/server/session/stream_request.h"

namespace runnel::server {

StreamFeed::StreamFeed(std::shared_ptr<LiveStream> stream, std::shared_ptr<SessionMailbox> mailbox)
    : stream_(std::move(stream)), mailbox_(std::move(mailbox)) {}

bool StreamFeed::Accept(std::vector<float> samples) {
  held_ = std::move(samples);
  num_taken_ = 0;
  return Offer();
}

bool StreamFeed::OnRoom() { return !is_holding() || Offer(); }

bool StreamFeed::Offer() {
  if (!WillFit(*stream_, held_.size() - num_taken_)) return false;
  num_taken_ += stream_->AcceptSamples(held_.data() + num_taken_, held_.size() - num_taken_);
  if (num_taken_ == held_.size() || stream_->is_over()) {
    held_ = std::vector<float>();
    return true;
  }
  stream_->NotifyRoom([mailbox = mailbox_] { mailbox->PutRoom(); });
  return true;
}

}  // namespace runnel::server
