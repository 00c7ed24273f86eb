// Who loses a snapshot in a full store, and that nobody keeps others out.
#include "tools/server/store/fair_snapshot_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/temporary_folder.h"
#include "tools/server/store/directory_snapshot_store.h"
#include "tools/server/store/snapshot_token.h"

namespace runnel::server {
namespace {

using runnel::testing::TemporaryFolder;
using std::chrono::seconds;

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

class FairSnapshotStoreTest : public ::testing::Test {
 protected:
  // `max_bytes` of the store, `max_folder_bytes` of the folder in it.
  void Make(int64_t max_bytes, int64_t max_folder_bytes) {
    store_ = std::make_unique<FairSnapshotStore>(
        std::make_unique<DirectorySnapshotStore>(folder_.File(""), seconds(100), max_folder_bytes),
        seconds(100), max_bytes, [this] { ++num_dropped_; }, [this] { return now_; });
  }

  // Stores as many snapshots and returns their tokens.
  std::vector<std::string> Fill(const std::string& account, int count, size_t size) {
    std::vector<std::string> tokens;
    for (int i = 0; i < count; ++i) {
      tokens.push_back(NewSnapshotToken());
      store_->Put(tokens.back(), std::string(size, 'x'), {account, ""});
    }
    return tokens;
  }

  // How many of the tokens have a snapshot.
  int NumKept(const std::vector<std::string>& tokens) {
    int count = 0;
    for (const std::string& token : tokens) count += store_->Get(token).has_value() ? 1 : 0;
    return count;
  }

  const TemporaryFolder folder_;
  std::chrono::steady_clock::time_point now_;
  int num_dropped_ = 0;
  std::unique_ptr<FairSnapshotStore> store_;
};

// The limit of the folder, or of the store where the folder has none (as Redis).
class FullStoreTest : public FairSnapshotStoreTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      Make(kNoLimit, 1000);
    } else {
      Make(1000, kNoLimit);
    }
  }
};

TEST_P(FullStoreTest, TheAccountWithMostLosesItsOldest) {
  const std::vector<std::string> much = Fill("much", 8, 100);
  const std::vector<std::string> little = Fill("little", 2, 100);
  EXPECT_EQ(num_dropped_, 0);
  const std::vector<std::string> honest = Fill("honest", 3, 100);
  EXPECT_EQ(num_dropped_, 3);
  EXPECT_EQ(NumKept(honest), 3);
  EXPECT_EQ(NumKept(little), 2);
  EXPECT_EQ(NumKept({much[0], much[1], much[2]}), 0);
  EXPECT_EQ(NumKept(much), 5);
}

TEST_P(FullStoreTest, AnAccountReplacesItsOwnWhenNobodyHasMore) {
  const std::vector<std::string> honest = Fill("honest", 3, 100);
  const std::vector<std::string> flood = Fill("flood", 100, 100);
  EXPECT_EQ(NumKept(honest), 3);
  EXPECT_EQ(NumKept(flood), 7);
  EXPECT_EQ(NumKept({flood.end() - 7, flood.end()}), 7) << "the youngest";
  EXPECT_EQ(num_dropped_, 93);
}

TEST_P(FullStoreTest, AStreamThatRunsIsYoung) {
  const std::vector<std::string> tokens = Fill("one", 10, 100);
  store_->Put(tokens[0], std::string(100, 'y'), {"one", ""});
  Fill("one", 1, 100);
  EXPECT_EQ(NumKept({tokens[0]}), 1);
  EXPECT_EQ(NumKept({tokens[1]}), 0);
}

TEST_P(FullStoreTest, AResumedStreamKeepsBoth) {
  const std::vector<std::string> tokens = Fill("one", 10, 100);
  const std::string successor = NewSnapshotToken();
  store_->Put(successor, std::string(100, 'y'), {"one", tokens[0]});
  Fill("one", 1, 100);
  EXPECT_EQ(NumKept({tokens[0], successor}), 2);
}

TEST_P(FullStoreTest, WhatIsTooLargeDropsNothing) {
  const std::vector<std::string> tokens = Fill("one", 10, 100);
  EXPECT_THROW(Fill("other", 1, 600 + 401), SnapshotStoreFull);
  EXPECT_LE(num_dropped_, GetParam() ? 6 : 0) << "until nobody has more";
}

TEST_P(FullStoreTest, RemovedSnapshotsTakeNoRoom) {
  for (int round = 0; round < 5; ++round) {
    for (const std::string& token : Fill("one", 10, 100)) store_->Remove(token);
  }
  EXPECT_EQ(num_dropped_, 0);
}

INSTANTIATE_TEST_SUITE_P(Limits, FullStoreTest, ::testing::Bool(), [](const auto& param_info) {
  return std::string(param_info.param ? "OfTheFolder" : "OfTheStore");
});

TEST_F(FairSnapshotStoreTest, ExpiredSnapshotsTakeNoRoom) {
  Make(1000, kNoLimit);
  Fill("one", 10, 100);
  now_ += seconds(100);
  Fill("one", 10, 100);
  EXPECT_EQ(num_dropped_, 0);
}

// They may be of clients of another server, and belong to no account.
TEST_F(FairSnapshotStoreTest, SnapshotsOfOthersAreNotDropped) {
  Make(kNoLimit, 1000);
  const std::vector<std::string> others = Fill("one", 8, 100);
  Make(kNoLimit, 1000);
  const std::vector<std::string> own = Fill("one", 5, 100);
  EXPECT_EQ(NumKept(others), 8);
  EXPECT_EQ(NumKept(own), 2);
  EXPECT_THROW(Fill("other", 1, 300), SnapshotStoreFull);
}

TEST_F(FairSnapshotStoreTest, EmptySnapshotsAreCounted) {
  Make(3, kNoLimit);
  EXPECT_EQ(NumKept(Fill("one", 5, 0)), 3);
  EXPECT_EQ(num_dropped_, 2);
}

// A store that takes long to remove a snapshot.
class SlowStore : public SnapshotStore {
 public:
  using SnapshotStore::Put;
  void Put(const std::string& token, const std::string& snapshot,
           const SnapshotOrigin& /*origin*/) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    snapshots_[token] = snapshot;
  }
  std::optional<std::string> Get(const std::string& token) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = snapshots_.find(token);
    if (found == snapshots_.end()) return std::nullopt;
    return found->second;
  }
  void Remove(const std::string& token) override {
    removing.set_value();
    may_remove.get_future().wait();
    const std::lock_guard<std::mutex> lock(mutex_);
    snapshots_.erase(token);
  }
  void RemoveExpired() override {}
  void Check() override {}
  int64_t num_bytes() const override { return 0; }
  std::string Description() const override { return "slow"; }

  std::promise<void> removing;
  std::promise<void> may_remove;

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> snapshots_;
};

TEST(FairSnapshotStore, ASnapshotThatComesWhileItsPredecessorIsDroppedIsKept) {
  auto owned = std::make_unique<SlowStore>();
  SlowStore& slow = *owned;
  FairSnapshotStore store(std::move(owned), seconds(100), 100, [] {});
  store.Put("dropped", std::string(60, 'x'), {"one", ""});
  std::thread other([&] { store.Put("other", std::string(50, 'x'), {"other", ""}); });
  slow.removing.get_future().wait();
  std::thread again([&] { store.Put("dropped", std::string(20, 'y'), {"one", ""}); });
  std::thread first_again([&] { store.Put("new", std::string(20, 'y'), {"one", ""}); });
  first_again.join();  // other tokens do not wait
  slow.may_remove.set_value();
  other.join();
  again.join();
  EXPECT_EQ(store.Get("dropped"), std::string(20, 'y'));
}

}  // namespace
}  // namespace runnel::server
