#include "tools/server/session/stream_feed.h"

#include <utility>

#include "tools/server/resources/stream_request.h"

namespace runnel::server {

StreamFeed::StreamFeed(std::shared_ptr<LiveStream> stream, std::shared_ptr<SessionMailbox> mailbox,
                       InputBudget::Share budget)
    : stream_(std::move(stream)), mailbox_(std::move(mailbox)), budget_(std::move(budget)) {}

bool StreamFeed::Accept(std::vector<float> samples) {
  held_ = std::move(samples);
  num_taken_ = 0;
  return Offer();
}

bool StreamFeed::OnRoom() {
  if (is_holding()) return Offer();
  MayHold(0);
  return true;
}

bool StreamFeed::MayHold(size_t num_more) {
  const size_t bytes = (stream_->num_waiting() + num_more) * sizeof(float);
  if (budget_.Resize(bytes)) return true;
  if (stream_->is_busy()) return false;
  budget_.Force(bytes);  // the stream needs them for its next chunk
  return true;
}

bool StreamFeed::Offer() {
  const size_t num_left = held_.size() - num_taken_;
  if (!WillFit(*stream_, num_left)) return false;
  is_over_budget_ = !MayHold(num_left);
  if (is_over_budget_) return true;
  num_taken_ += stream_->AcceptSamples(held_.data() + num_taken_, held_.size() - num_taken_);
  if (num_taken_ == held_.size() || stream_->is_over()) {
    held_ = std::vector<float>();
    return true;
  }
  stream_->NotifyRoom([mailbox = mailbox_] { mailbox->PutRoom(); });
  return true;
}

}  // namespace runnel::server
