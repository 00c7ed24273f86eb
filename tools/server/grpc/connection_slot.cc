#include "tools/server/grpc/connection_slot.h"

#include <cstdint>
#include <utility>

namespace runnel::server {

class ConnectionSlot::CallShare : public Shares::Share {
 public:
  explicit CallShare(std::shared_ptr<ConnectionSlot> slot) : slot_(std::move(slot)) {
    slot_->Keep();
  }
  ~CallShare() override {
    if (keeps_) slot_->Release();
  }

  void Use(Shares::Time /*now*/) override { slot_->Use(); }
  void Offer(Shares::Duration /*patience*/, std::function<void()> give_up) override {
    const bool keeps = give_up == nullptr;
    if (std::exchange(keeps_, keeps) == keeps) return;
    keeps ? slot_->Keep() : slot_->Release();
  }
  bool Grow(int64_t /*amount*/, Shares::Time /*now*/) override { return false; }

 private:
  const std::shared_ptr<ConnectionSlot> slot_;
  bool keeps_ = true;
};

void ConnectionSlot::Offer(std::function<void()> give_up) {
  const std::lock_guard<std::mutex> lock(mutex_);
  give_up_ = std::move(give_up);
  Update();
}

Ticket ConnectionSlot::Join() {
  return std::make_shared<Slot>(std::make_shared<CallShare>(shared_from_this()));
}

void ConnectionSlot::Use() {
  if (const Ticket slot = slot_.lock()) slot->Use();
}

void ConnectionSlot::Keep() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Use();
  if (num_keeping_++ == 0) Update();
}

void ConnectionSlot::Release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Use();
  if (--num_keeping_ == 0) Update();
}

void ConnectionSlot::Update() {
  const Ticket slot = slot_.lock();
  if (slot == nullptr) return;
  slot->Offer(kIdlePatience, num_keeping_ > 0 ? nullptr : give_up_);
}

}  // namespace runnel::server
