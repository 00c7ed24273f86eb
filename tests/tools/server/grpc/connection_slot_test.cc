#include "tools/server/grpc/connection_slot.h"

#include <gtest/gtest.h>

#include <memory>

namespace runnel::server {
namespace {

// Shows what the slot of a connection is told.
class ShownShare : public Shares::Share {
 public:
  void Use(Shares::Time /*now*/) override { ++num_uses; }
  void Offer(Shares::Duration patience, std::function<void()> give_up) override {
    is_offered = give_up != nullptr;
    EXPECT_EQ(patience, kIdlePatience);
  }
  bool Grow(int64_t /*amount*/, Shares::Time /*now*/) override { return false; }

  int num_uses = 0;
  bool is_offered = false;
};

class ConnectionSlotTest : public ::testing::Test {
 protected:
  const std::shared_ptr<ShownShare> share_ = std::make_shared<ShownShare>();
  Ticket ticket_ = std::make_shared<Slot>(share_);
  const std::shared_ptr<ConnectionSlot> slot_ = std::make_shared<ConnectionSlot>(ticket_);
};

TEST_F(ConnectionSlotTest, IsOfferedWhileNoCallKeepsIt) {
  slot_->Offer([] {});
  EXPECT_TRUE(share_->is_offered);
  Ticket first = slot_->Join();
  EXPECT_FALSE(share_->is_offered);
  Ticket second = slot_->Join();
  first->Offer(kIdlePatience, [] {});
  EXPECT_FALSE(share_->is_offered);
  second->Offer(kIdlePatience, [] {});
  EXPECT_TRUE(share_->is_offered);
  second->Offer({}, nullptr);
  EXPECT_FALSE(share_->is_offered);
  first.reset();
  EXPECT_FALSE(share_->is_offered);
  second.reset();
  EXPECT_TRUE(share_->is_offered);
}

TEST_F(ConnectionSlotTest, ACallUsesIt) {
  slot_->Offer([] {});
  const Ticket call = slot_->Join();
  call->Offer(kIdlePatience, [] {});
  const int num_uses = share_->num_uses;
  call->Use();
  EXPECT_EQ(share_->num_uses, num_uses + 1);
}

TEST_F(ConnectionSlotTest, CallsMayOutliveTheConnection) {
  slot_->Offer([] {});
  Ticket call = slot_->Join();
  std::weak_ptr<Slot> connection = ticket_;
  ticket_.reset();
  EXPECT_TRUE(connection.expired());
  call->Use();
  call->Offer(kIdlePatience, [] {});
  call.reset();
}

}  // namespace
}  // namespace runnel::server
