// Messages of any size: their bytes, and what they count.
#include "tools/server/resources/message_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

namespace runnel::server {
namespace {

constexpr size_t kMiB = 1 << 20;

std::string RandomBytes(size_t size) {
  std::mt19937 random(3);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

void Append(std::string_view bytes, MessageBuffer* buffer) {
  ASSERT_TRUE(buffer->Reserve(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), buffer->end());
  buffer->Commit(bytes.size());
}

TEST(MessageBuffer, KeepsWhatComesAndGivesBackWhatIsRead) {
  const std::string message = RandomBytes(3 * kMiB);
  InputBudget budget(100 * kMiB);
  MessageBuffer buffer(&budget, "client");
  for (size_t i = 0; i < message.size(); i += 4096) {
    Append(std::string_view(message).substr(i, 4096), &buffer);
    EXPECT_EQ(budget.num_bytes(), i + 4096 > MessageBuffer::kFreeBytes ? i + 4096 : 0);
  }
  EXPECT_EQ(buffer.bytes(), message);
  size_t num_read = 0;
  for (const size_t count : {1000U, 200000U, 1500000U}) {
    buffer.Consume(count);
    num_read += count;
    EXPECT_EQ(buffer.bytes(), std::string_view(message).substr(num_read));
    EXPECT_LE(budget.num_bytes(), message.size() - num_read + MessageBuffer::kFreeBytes);
  }
  MessageBuffer moved = std::move(buffer);
  EXPECT_EQ(moved.bytes(), std::string_view(message).substr(num_read));
  moved.Clear();
  EXPECT_EQ(budget.num_bytes(), 0U);
  Append("abc", &moved);
  EXPECT_EQ(moved.bytes(), "abc");
}

TEST(MessageBuffer, AFullBudgetRefusesLargeMessagesOnly) {
  InputBudget budget(4 * kMiB);
  MessageBuffer large(&budget, "client");
  EXPECT_TRUE(large.Reserve(kMiB));
  MessageBuffer other(&budget, "client");
  EXPECT_FALSE(other.Reserve(MessageBuffer::kFreeBytes + 1));
  EXPECT_TRUE(other.Reserve(MessageBuffer::kFreeBytes));
  large.Clear();
  EXPECT_TRUE(other.Reserve(MessageBuffer::kFreeBytes + 1));
}

TEST(MessageBuffer, BytesThatAreThereAreCounted) {
  InputBudget budget(kMiB);
  const std::string message = RandomBytes(2 * kMiB);
  {
    const MessageBuffer buffer(&budget, "client", message);
    EXPECT_EQ(buffer.bytes(), message);
    EXPECT_EQ(budget.num_bytes(), message.size());
  }
  EXPECT_EQ(budget.num_bytes(), 0U);
  EXPECT_EQ(MessageBuffer(&budget, "client", "").bytes(), "");
}

}  // namespace
}  // namespace runnel::server
