// When the slots of a stream count as used, and when they are offered.
#include "tools/server/resources/idle_slots.h"

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

TEST(IdleSlots, AreUsedByProgressOnly) {
  const auto connection = std::make_shared<FakeShare>();
  const auto stream = std::make_shared<FakeShare>();
  IdleSlots slots(std::make_shared<Slot>(connection), std::make_shared<Slot>(stream));
  slots.SetHandler([] {});
  auto progress = IdleSlots::Time() + std::chrono::seconds(1);
  slots.Update(/*awaits_client=*/true, progress);
  EXPECT_EQ(stream->num_uses, 0) << "it begins";
  for (const bool awaits_client : {false, true, false, true}) {  // tasks for messages without audio
    slots.Update(awaits_client, progress);
    EXPECT_EQ(stream->is_offered, awaits_client);
    EXPECT_EQ(connection->is_offered, awaits_client);
  }
  EXPECT_EQ(stream->num_uses, 0);
  progress += std::chrono::seconds(1);
  slots.Update(/*awaits_client=*/true, progress);
  EXPECT_EQ(stream->num_uses, 1);
  EXPECT_EQ(connection->num_uses, 1);
}

}  // namespace
}  // namespace runnel::server
