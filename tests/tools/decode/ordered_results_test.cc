// The order of work and of results.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"
#include "tools/decode/ordered_output.h"
#include "tools/decode/work_queue.h"

namespace runnel {
namespace {

using testing::ErrorMessage;
using testing::ReadBytes;
using testing::TemporaryFolder;

TEST(WorkQueueTest, HandsOutEachItemOnceInOrder) {
  WorkQueue queue(3, 10);
  EXPECT_EQ(queue.Take(false), 0U);
  EXPECT_EQ(queue.Take(true), 1U);
  EXPECT_EQ(queue.Take(false), 2U);
  EXPECT_FALSE(queue.Take(false));
  EXPECT_FALSE(queue.Take(true));
}

TEST(WorkQueueTest, WaitsForTheOldestItem) {
  WorkQueue queue(100, 3);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(queue.Take(false), i);
  queue.Finish(1);
  queue.Finish(2);
  EXPECT_FALSE(queue.Take(false));  // item 0 is still in work
  std::thread worker([&queue] { EXPECT_EQ(queue.Take(true), 3U); });
  queue.Finish(0);
  worker.join();
}

TEST(WorkQueueTest, StopEndsWaiting) {
  WorkQueue queue(100, 1);
  EXPECT_EQ(queue.Take(false), 0U);
  std::thread worker([&queue] { EXPECT_FALSE(queue.Take(true)); });
  queue.Stop();
  worker.join();
  EXPECT_TRUE(queue.stopped());
  EXPECT_FALSE(queue.Take(false));
}

TEST(OrderedResultsTest, ManyThreadsWriteInOrder) {
  constexpr size_t kItems = 2000;
  const TemporaryFolder folder;
  const std::string path = folder.File("out");
  OrderedOutput output(path);
  WorkQueue queue(kItems, 7);
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      while (const std::optional<size_t> item = queue.Take(true)) {
        output.Put(*item, std::to_string(*item) + "\n");
        queue.Finish(*item);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  output.Close();
  std::string expected;
  for (size_t i = 0; i < kItems; ++i) expected += std::to_string(i) + "\n";
  EXPECT_EQ(ReadBytes(path), expected);
}

TEST(OrderedOutputTest, AnyOrderAndEmptyTexts) {
  constexpr unsigned kSeed = 7;
  std::cout << "seed " << kSeed << "\n";
  std::vector<size_t> order(100);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937(kSeed));
  const TemporaryFolder folder;
  OrderedOutput output(folder.File("out"));
  std::string expected;
  for (const size_t index : order) output.Put(index, index % 3 == 0 ? "" : std::to_string(index));
  for (size_t i = 0; i < order.size(); ++i) expected += i % 3 == 0 ? "" : std::to_string(i);
  output.Close();
  EXPECT_EQ(ReadBytes(folder.File("out")), expected);
}

TEST(OrderedOutputTest, WritesAsSoonAsTheTurnComes) {
  const TemporaryFolder folder;
  OrderedOutput output(folder.File("out"));
  output.Put(1, "b");
  EXPECT_EQ(ReadBytes(folder.File("out")), "");
  output.Put(0, "a");
  EXPECT_EQ(ReadBytes(folder.File("out")), "ab");
}

TEST(OrderedOutputTest, PiecesOfTheOldestResultAreWrittenAtOnce) {
  const TemporaryFolder folder;
  const std::string path = folder.File("out");
  OrderedOutput output(path);
  const auto expect = [&](const std::string& content) { EXPECT_EQ(ReadBytes(path), content); };
  output.Append(0, "a1");
  expect("a1");
  output.Append(2, "c1");
  output.Append(1, "b1");
  output.Append(0, "a2");
  expect("a1a2");
  output.Append(2, "c2");
  output.Complete(2);
  expect("a1a2");
  output.Complete(0);
  expect("a1a2b1");
  output.Append(1, "b2");
  expect("a1a2b1b2");
  output.Complete(1);
  expect("a1a2b1b2c1c2");
  output.Complete(3);  // a result without pieces
  output.Put(4, "e");
  expect("a1a2b1b2c1c2e");
  output.Close();
}

TEST(OrderedResultsTest, PiecesOfManyThreadsAreWrittenInOrder) {
  constexpr size_t kItems = 500;
  const TemporaryFolder folder;
  OrderedOutput output(folder.File("out"));
  WorkQueue queue(kItems, 9);
  const auto piece = [](size_t item, size_t part) {
    return std::to_string(item) + "-" + std::to_string(part) + "\n";
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      // Two results in work at a time, as in a batch.
      std::vector<size_t> items;
      while (const std::optional<size_t> item = queue.Take(items.empty())) {
        items.push_back(*item);
        if (items.size() < 2) continue;
        for (size_t part = 0; part < 8; ++part) {
          for (const size_t some : items) {
            if (part < some % 8) output.Append(some, piece(some, part));
          }
        }
        for (const size_t some : items) {
          output.Complete(some);
          queue.Finish(some);
        }
        items.clear();
      }
      for (const size_t some : items) {
        for (size_t part = 0; part < some % 8; ++part) output.Append(some, piece(some, part));
        output.Complete(some);
        queue.Finish(some);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  output.Close();
  std::string expected;
  for (size_t i = 0; i < kItems; ++i) {
    for (size_t part = 0; part < i % 8; ++part) expected += piece(i, part);
  }
  EXPECT_EQ(ReadBytes(folder.File("out")), expected);
}

TEST(OrderedOutputTest, ErrorsNameTheFile) {
  const TemporaryFolder folder;
  const std::string nowhere = folder.File("missing/out");
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { OrderedOutput output(nowhere); }),
            nowhere + ": cannot create: No such file or directory");
  OrderedOutput full("/dev/full");
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { full.Put(0, "x"); }),
            "/dev/full: cannot write: No space left on device");
}

}  // namespace
}  // namespace runnel
