// The promises of SnapshotStore, tested with both stores.
#include "tools/server/store/snapshot_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"
#include "tests/tools/server/store/redis_process.h"
#include "tools/server/store/make_snapshot_store.h"
#include "tools/server/store/snapshot_token.h"

namespace runnel::server {
namespace {

using runnel::testing::ErrorMessage;
using runnel::testing::TemporaryFolder;
using std::chrono::seconds;

const std::vector<std::string>& NoTokens() {
  static const std::vector<std::string> texts = {
      "",
      ".",
      "..",
      "/etc/passwd",
      "../../../../../../etc/hostname",
      "0123456789abcdef0123456789abcde",    // too short
      "0123456789abcdef0123456789abcdef0",  // too long
      "0123456789ABCDEF0123456789ABCDEF",
      "../456789abcdef0123456789abcdef0",
      "0123456789abcdef" + std::string(1, '\0') + "123456789abcdef",
      std::string(32, '\0'),
      std::string(1 << 20, 'a'),
      "0123456789abcdef 123456789abcdef",
      "0123456789abcdef\r\nFLUSHALL\r\n...."};
  return texts;
}

TEST(SnapshotTokenTest, HasItsFormAndIsNeverTheSame) {
  std::set<std::string> tokens;
  for (int i = 0; i < 1000; ++i) {
    const std::string token = NewSnapshotToken();
    EXPECT_TRUE(IsSnapshotToken(token)) << token;
    EXPECT_TRUE(tokens.insert(token).second);
  }
  for (const std::string& text : NoTokens()) EXPECT_FALSE(IsSnapshotToken(text));
}

TEST(SnapshotTokenTest, EveryBitIsRandom) {
  std::vector<int> ones(128, 0);
  constexpr int kTokens = 400;
  for (int i = 0; i < kTokens; ++i) {
    const std::string token = NewSnapshotToken();
    for (size_t digit = 0; digit < token.size(); ++digit) {
      const int value = std::stoi(token.substr(digit, 1), nullptr, 16);
      for (int bit = 0; bit < 4; ++bit) ones[4 * digit + bit] += value >> bit & 1;
    }
  }
  // Eight standard deviations on either side.
  for (const int count : ones) EXPECT_NEAR(count, kTokens / 2, 80);
}

// Tests of every store. The parameter is "folder" or "redis".
class SnapshotStoreTest : public ::testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    std::signal(SIGPIPE, SIG_IGN);  // as ToolMain does
    redis_ = new RedisProcess();
  }
  static void TearDownTestSuite() { delete redis_; }

  void SetUp() override { store_ = MakeSnapshotStore(Location(), seconds(3600)); }
  std::string Location() const {
    return GetParam() == std::string("redis") ? redis_->url() : path_;
  }

  static RedisProcess* redis_;
  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("");
  std::unique_ptr<SnapshotStore> store_;
};
RedisProcess* SnapshotStoreTest::redis_ = nullptr;

TEST_P(SnapshotStoreTest, GivesBackWhatWasPut) {
  std::string every_byte;
  for (int i = 0; i < 3 * 256; ++i) every_byte += static_cast<char>(i);
  for (const std::string& snapshot :
       {std::string(), std::string("\0\r\n", 3), every_byte, std::string(5'000'000, 'x')}) {
    const std::string token = NewSnapshotToken();
    EXPECT_EQ(store_->Get(token), std::nullopt);
    store_->Put(token, snapshot);
    EXPECT_TRUE(store_->Get(token) == snapshot);
    EXPECT_TRUE(store_->Get(token) == snapshot) << "reading changes nothing";
  }
}

TEST_P(SnapshotStoreTest, ReplacesAndRemoves) {
  const std::string token = NewSnapshotToken();
  const std::string other = NewSnapshotToken();
  store_->Put(token, "a long first one");
  store_->Put(other, "other");
  store_->Put(token, "second");
  EXPECT_EQ(store_->Get(token), "second");
  store_->Remove(token);
  EXPECT_EQ(store_->Get(token), std::nullopt);
  store_->Remove(token);
  EXPECT_EQ(store_->Get(other), "other");
}

TEST_P(SnapshotStoreTest, AnotherServerFindsIt) {
  const std::string token = NewSnapshotToken();
  store_->Put(token, "snapshot");
  EXPECT_EQ(MakeSnapshotStore(Location(), seconds(3600))->Get(token), "snapshot");
}

TEST_P(SnapshotStoreTest, WhatIsNoTokenIsUnknown) {
  for (const std::string& text : NoTokens()) {
    EXPECT_EQ(store_->Get(text), std::nullopt);
    EXPECT_NO_THROW(store_->Remove(text));
    EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { store_->Put(text, "x"); }),
              "not a snapshot token");
  }
  EXPECT_NO_THROW(store_->Check());
}

// A reader sees one of the snapshots whole, never a mixture.
TEST_P(SnapshotStoreTest, ThreadsShareIt) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 50;
  const std::string shared = NewSnapshotToken();
  store_->Put(shared, std::string(100'000, 'a'));
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      const std::string own = NewSnapshotToken();
      for (int round = 0; round < kRounds; ++round) {
        store_->Put(shared, std::string(100'000 + number, static_cast<char>('a' + number)));
        store_->Put(own, std::to_string(round));
        const std::string found = store_->Get(shared).value_or("");
        const bool is_whole = !found.empty() &&
                              found.find_first_not_of(found.front()) == std::string::npos &&
                              found.size() == 100'000 + static_cast<size_t>(found.front() - 'a');
        if (!is_whole || store_->Get(own) != std::to_string(round)) ++failures;
      }
      store_->Remove(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TEST_P(SnapshotStoreTest, LivesASecondToAYear) {
  for (const int64_t life : {int64_t{0}, int64_t{31'536'001}, int64_t{10'000'000'000},
                             std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(
        ErrorMessage<std::invalid_argument>([&] { MakeSnapshotStore(Location(), seconds(life)); }),
        "the time to live of snapshots is " + std::to_string(life) + ", expected 1 to 31536000 s");
  }
  const std::string token = NewSnapshotToken();
  const auto store = MakeSnapshotStore(Location(), kMaxSnapshotLife);
  store->Put(token, "x");
  EXPECT_EQ(store->Get(token), "x");
}

INSTANTIATE_TEST_SUITE_P(Stores, SnapshotStoreTest, ::testing::Values("folder", "redis"),
                         [](const auto& param_info) { return std::string(param_info.param); });

}  // namespace
}  // namespace runnel::server
