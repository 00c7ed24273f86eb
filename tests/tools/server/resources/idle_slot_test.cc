// When the slot of a stream counts as used, and when it is offered.
#include "tools/server/resources/idle_slot.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace runnel::server {
namespace {

class FakeShare : public Shares::Share {
 public:
  void Use(Shares::Time /*now*/) override { ++num_uses; }
  void Offer(Shares::Duration /*patience*/, std::function<void()> give_up) override {
    is_offered = give_up != nullptr;
  }
  bool Grow(int64_t /*amount*/, Shares::Time /*now*/) override { return true; }

  int num_uses = 0;
  bool is_offered = false;
};

TEST(IdleSlot, IsUsedByProgressOnly) {
  const auto share = std::make_shared<FakeShare>();
  IdleSlot slot(std::make_shared<Slot>(share), [] {});
  auto progress = IdleSlot::Time() + std::chrono::seconds(1);
  slot.Update(/*awaits_client=*/true, progress);
  EXPECT_EQ(share->num_uses, 0) << "it begins";
  for (const bool awaits_client : {false, true, false, true}) {  // tasks for messages without audio
    slot.Update(awaits_client, progress);
    EXPECT_EQ(share->is_offered, awaits_client);
  }
  EXPECT_EQ(share->num_uses, 0);
  progress += std::chrono::seconds(1);
  slot.Update(/*awaits_client=*/true, progress);
  EXPECT_EQ(share->num_uses, 1);
}

}  // namespace
}  // namespace runnel::server
