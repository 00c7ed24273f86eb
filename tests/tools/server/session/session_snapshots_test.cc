// Streams that are stored and resumed, also when store, stream and client are out of step.
#include "tools/server/session/session_snapshots.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/tiny_streams.h"
#include "tools/server/session/live_session.h"

namespace runnel::server {
namespace {

using nlohmann::json;

constexpr size_t kMaxBytes = size_t{1} << 30;
constexpr char kToken[] = "00112233445566778899aabbccddeeff";

// In memory; Put waits until it is let go on, and Get too, when it is told to.
class SlowStore : public SnapshotStore {
 public:
  void Put(const std::string& token, const std::string& snapshot,
           const std::string& predecessor) override {
    is_putting_ = true;
    ++num_puts_;
    allowed_.wait();
    const std::lock_guard<std::mutex> lock(mutex_);
    snapshots_[token] = snapshot;
    predecessor_ = predecessor;
  }
  std::optional<std::string> Get(const std::string& token) override {
    if (holds_gets_) allowed_.wait();
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = snapshots_.find(token);
    if (found == snapshots_.end()) return std::nullopt;
    return found->second;
  }
  void Remove(const std::string& token) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    snapshots_.erase(token);
    ++num_removals_;
  }
  void Check() override {}
  std::string Description() const override { return "memory"; }

  void LetPut() { may_put_.set_value(); }
  void HoldGets() { holds_gets_ = true; }
  void Hold(const std::string& snapshot) { snapshots_[kToken] = snapshot; }
  bool is_putting() const { return is_putting_; }
  int num_puts() const { return num_puts_; }
  int num_removals() const { return num_removals_; }
  bool holds(const std::string& token) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return snapshots_.count(token) > 0;
  }
  // Of what was put last.
  std::string predecessor() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return predecessor_;
  }
  size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return snapshots_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> snapshots_;
  std::string predecessor_;
  std::promise<void> may_put_;
  const std::shared_future<void> allowed_ = may_put_.get_future().share();
  std::atomic<bool> is_putting_{false};
  std::atomic<bool> holds_gets_{false};
  std::atomic<int> num_puts_{0};
  std::atomic<int> num_removals_{0};
};

class SessionSnapshotsTest : public ::testing::Test {
 protected:
  SessionSnapshotsTest() {
    services_.recognizer = &recognizer_;
    services_.metrics = &metrics_;
    services_.snapshot_store = &store_;
    services_.store_threads = &threads_;
    services_.limits.snapshot_interval_s = 0.1;
    session_ = std::make_shared<LiveSession>(services_, "id", [this] { ++wakes_; });
  }
  ~SessionSnapshotsTest() override { threads_.Stop(); }

  void Resume() {
    session_->Receive(
        {true, std::string(R"({"type":"resume","version":1,"token":")") + kToken + "\"}"});
  }

  // Of two seconds, under kToken.
  void HoldStream() {
    const auto stream = recognizer_.Open();
    stream->AcceptSamples(std::vector<float>(32000, 0.01F).data(), 32000);
    store_.Hold("runnel-session 1 1\n" + stream->Snapshot());
    stream->Cancel();
  }

  // Sends what there is until a message of that type is sent.
  void SendUntil(const std::string& type) {
    for (;;) {
      session_->Advance();
      while (auto message = session_->TakeMessage()) {
        session_->OnSent(*message);
        if (json::parse(message->text)["type"] == type) return;
      }
      std::this_thread::yield();
    }
  }

  // The code of the error that the session ends with.
  std::string LastCode() {
    json last;
    while (auto message = session_->TakeMessage()) last = json::parse(message->text);
    return last.value("code", "");
  }

  Metrics metrics_;
  Services services_;
  SlowStore store_;
  Recognizer recognizer_{testing::Tiny()};
  TaskThreads threads_{2, kMaxBytes, 100};
  std::atomic<int> wakes_{0};
  std::shared_ptr<LiveSession> session_;
};

TEST_F(SessionSnapshotsTest, WhatIsForgottenIsNotStoredLater) {
  session_->Receive({true, R"({"type":"start","version":1,"resume":true,"chunk_size":4})"});
  EXPECT_EQ(json::parse(session_->TakeMessage()->text)["resume"], true);
  session_->Receive({false, std::string(64000, '\1')});
  while (!store_.is_putting()) std::this_thread::yield();
  session_->Receive({true, R"({"type":"cancel"})"});
  while (store_.num_removals() == 0) std::this_thread::yield();  // the store overtakes itself
  store_.LetPut();
  threads_.Stop();
  EXPECT_EQ(store_.size(), 0U);
}

TEST_F(SessionSnapshotsTest, ResumedIsTheFirstMessage) {
  store_.LetPut();
  HoldStream();
  Resume();
  session_->Receive({true, R"({"type":"finish"})"});
  std::vector<json> messages;
  for (int num_seen = 0; !session_->close_code().has_value();) {
    // The stream may have results before the session knows of it.
    while (auto message = session_->TakeMessage()) messages.push_back(json::parse(message->text));
    if (num_seen == wakes_) std::this_thread::yield();
    num_seen = wakes_;
    session_->Advance();
  }
  ASSERT_GE(messages.size(), 2U);
  EXPECT_EQ(messages.front()["type"], "resumed");
  EXPECT_EQ(messages.front()["samples"], 32000);
  EXPECT_EQ(messages.back()["type"], "final");
}

// A client that is sent one may have lost its connection before it got it.
TEST_F(SessionSnapshotsTest, TheSnapshotResumedFromStaysUntilASecondNewOneIsSent) {
  store_.LetPut();
  HoldStream();
  Resume();
  SendUntil("resumed");
  session_->Receive({false, std::string(64000, '\1')});
  SendUntil("snapshot");
  EXPECT_EQ(store_.predecessor(), kToken);
  EXPECT_EQ(store_.num_removals(), 0);
  session_->Receive({false, std::string(64000, '\1')});
  SendUntil("snapshot");
  while (store_.num_removals() == 0) std::this_thread::yield();
  EXPECT_FALSE(store_.holds(kToken));
  EXPECT_EQ(store_.size(), 1U);
}

TEST_F(SessionSnapshotsTest, AResumeHasADeadline) {
  store_.HoldGets();
  services_.resume_patience_s = 1000;
  Resume();
  EXPECT_LE(session_->NextDeadline(), LiveSession::Clock::now() + std::chrono::seconds(1000));
  session_->Advance();
  EXPECT_FALSE(session_->close_code().has_value());
  session_ = std::make_shared<LiveSession>(services_, "other", [] {});
  services_.resume_patience_s = 0;
  Resume();
  session_->Advance();
  EXPECT_EQ(LastCode(), "store_unavailable");
  EXPECT_EQ(session_->close_code(), 1013);
  store_.LetPut();
}

// Otherwise nobody would notice that the client is gone.
TEST_F(SessionSnapshotsTest, MessagesOfAClientThatResumesAreRead) {
  store_.HoldGets();
  Resume();
  EXPECT_TRUE(session_->CanReceive());
  session_->Receive({true, R"({"type":"ping","id":7})"});
  EXPECT_EQ(json::parse(session_->TakeMessage()->text)["type"], "pong");
  EXPECT_TRUE(session_->CanReceive());
  session_->Receive({false, std::string(100, '\1')});
  EXPECT_FALSE(session_->CanReceive()) << "it waits for its stream";
  session_->Disconnect();
  store_.LetPut();
}

TEST_F(SessionSnapshotsTest, DrainingHasADeadline) {
  services_.drain_patience_s = 1000;
  session_->Receive({true, R"({"type":"start","version":1,"resume":true,"chunk_size":4})"});
  session_->Drain();
  session_->Advance();
  EXPECT_FALSE(session_->close_code().has_value());
  session_ = std::make_shared<LiveSession>(services_, "other", [] {});
  services_.drain_patience_s = 0;
  session_->Receive({true, R"({"type":"start","version":1,"resume":true,"chunk_size":4})"});
  session_->Drain();
  session_->Advance();
  EXPECT_EQ(LastCode(), "draining");
  EXPECT_EQ(session_->close_code(), 1013);
  store_.LetPut();
}

// An older snapshot that waits to be stored does not replace the last one.
TEST_F(SessionSnapshotsTest, TheLastSnapshotOvertakes) {
  services_.limits.snapshot_interval_s = 1;  // one snapshot of two seconds, besides the last
  std::promise<void> go_on[2];
  for (std::promise<void>& one : go_on) threads_.Run([&one] { one.get_future().wait(); });
  session_->Receive({true, R"({"type":"start","version":1,"resume":true,"chunk_size":4})"});
  session_->Receive({false, std::string(64000, '\1')});
  while (threads_.HasRoom(kMaxBytes)) std::this_thread::yield();  // the snapshot waits
  session_->Receive({false, std::string(200, '\1')});             // which it does not hold
  services_.drain_patience_s = 1000;
  session_->Drain();
  store_.LetPut();
  go_on[0].set_value();  // one thread: what is first is done first
  while (!session_->close_code().has_value()) {
    session_->Advance();
    while (session_->TakeMessage().has_value()) {
    }
    std::this_thread::yield();
  }
  while (!threads_.HasRoom(kMaxBytes)) std::this_thread::yield();
  go_on[1].set_value();
  EXPECT_EQ(store_.num_puts(), 1);
}

}  // namespace
}  // namespace runnel::server
