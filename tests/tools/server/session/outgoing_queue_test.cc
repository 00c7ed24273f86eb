// Order and size of the messages that wait for a client.
#include "tools/server/session/outgoing_queue.h"

#include <gtest/gtest.h>

namespace runnel::server {
namespace {

OutgoingMessage Message(const std::string& text) { return {text, std::nullopt, false}; }

TEST(OutgoingQueue, IsFirstInFirstOutAndCountsBytes) {
  OutgoingQueue queue;
  EXPECT_FALSE(queue.Take().has_value());
  queue.Push(Message("one"));
  queue.Push(Message("three"));
  EXPECT_EQ(queue.num_bytes(), 8U);
  EXPECT_EQ(queue.Take()->text, "one");
  EXPECT_EQ(queue.num_bytes(), 5U);
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(queue.Take()->text, "three");
  EXPECT_EQ(queue.num_bytes(), 0U);
  EXPECT_TRUE(queue.empty());
}

TEST(OutgoingQueue, ClearDropsAll) {
  OutgoingQueue queue;
  queue.Push(Message("one"));
  queue.Clear();
  EXPECT_EQ(queue.num_bytes(), 0U);
  EXPECT_FALSE(queue.Take().has_value());
}

}  // namespace
}  // namespace runnel::server
