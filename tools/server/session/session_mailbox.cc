#include "tools/server/session/session_mailbox.h"

namespace runnel::server {
namespace {

// Of the answer to a flush that ended no utterance, at most.
constexpr size_t kFlushAnswerBytes = 512;

size_t MemoryOf(const std::vector<Utterance>& utterances) {
  size_t bytes = 0;
  for (const Utterance& utterance : utterances) {
    bytes += sizeof(utterance);
    for (const Hypothesis& hypothesis : utterance.nbest) {
      bytes += sizeof(hypothesis) + hypothesis.text.size() +
               hypothesis.tokens.size() * sizeof(Token) + hypothesis.words.size() * sizeof(Word);
    }
  }
  return bytes;
}

}  // namespace

template <typename Change>
void SessionMailbox::Put(Change change) {
  bool wakes = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_closed_) return;
    change();
    wakes = !std::exchange(is_woken_, true);
  }
  if (wakes) wake_();
}

void SessionMailbox::PutUpdate(const LiveUpdate& update) {
  Put([&] {
    if (update_.has_value()) {
      update_->update.Append(update);
    } else {
      update_ = Update{update, std::nullopt};
    }
    update_->utterance_bytes += MemoryOf(update.utterances);
    if (update.accepted_at != Clock::time_point() && !update_->chunk_accepted.has_value()) {
      update_->chunk_accepted = update.accepted_at;
    }
  });
}

void SessionMailbox::PutSnapshot(Snapshot snapshot) {
  Put([&] { snapshot_ = std::move(snapshot); });
}

void SessionMailbox::PutResumed(Resumed resumed) {
  Put([&] { resumed_ = std::move(resumed); });
}

void SessionMailbox::PutDone(Done done) {
  Put([&] { done_ = std::move(done); });
}

void SessionMailbox::PutRoom() {
  Put([&] { has_room_ = true; });
}

void SessionMailbox::PutDrained() {
  Put([&] { is_drained_ = true; });
}

bool SessionMailbox::TakeRoom() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(has_room_, false);
}

bool SessionMailbox::TakeDrained() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(is_drained_, false);
}

void SessionMailbox::Open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_woken_ = false;
}

void SessionMailbox::Close() {
  // Outside the lock: a stream that ends waits for its callback.
  std::optional<Resumed> dropped_stream;
  std::optional<Done> dropped_work;
  const std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
  dropped_stream.swap(resumed_);
  dropped_work.swap(done_);
  update_.reset();
  snapshot_.reset();
}

bool SessionMailbox::is_closed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return is_closed_;
}

size_t SessionMailbox::update_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!update_.has_value()) return 0;
  return static_cast<size_t>(update_->update.num_empty_finalizations) * kFlushAnswerBytes +
         update_->utterance_bytes + update_->update.stable_text.size() +
         update_->update.tokens.size() * sizeof(Token);
}

}  // namespace runnel::server
