// Streams that are stored and resumed, also when store, stream and client are out of step.
#include "tools/server/session/session_snapshots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/random_audio.h"
#include "tests/support/random_heads.h"
#include "tests/support/tiny_streams.h"
#include "tools/server/session/live_session.h"
#include "tools/server/store/stored_session.h"

namespace runnel::server {
namespace {

using nlohmann::json;

constexpr size_t kMaxBytes = size_t{1} << 30;
constexpr char kToken[] = "00112233445566778899aabbccddeeff";

// In memory; Put waits until it is let go on, and Get too, when it is told to.
class SlowStore : public SnapshotStore {
 public:
  void Put(const std::string& token, const std::string& snapshot,
           const SnapshotOrigin& origin) override {
    is_putting_ = true;
    ++num_puts_;
    allowed_.wait();
    const std::lock_guard<std::mutex> lock(mutex_);
    snapshots_[token] = snapshot;
    origin_ = origin;
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
  SnapshotOrigin origin() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return origin_;
  }
  size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return snapshots_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> snapshots_;
  SnapshotOrigin origin_;
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
    services_.file_threads = &threads_;
    session_ = std::make_shared<LiveSession>(services_, Client{"id", "account"}, nullptr,
                                             [this] { ++wakes_; });
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
    store_.Hold(Pack({0, "", stream->Snapshot()}));
    stream->Cancel();
  }

  // Sends what there is until a message of that type is sent, and returns that.
  json SendUntil(const std::string& type) {
    for (;;) {
      session_->Advance();
      while (auto message = session_->TakeMessage()) {
        session_->OnSent(*message);
        json sent = json::parse(message->text);
        if (sent["type"] == type) return sent;
      }
      std::this_thread::yield();
    }
  }

  // Sends a message as soon as the session reads, and adds what comes meanwhile to messages_.
  void Send(const ClientMessage& message) {
    do {
      Pump();
    } while (!session_->CanReceive());
    session_->Receive(message);
  }

  void SendNoise(size_t num_samples, uint64_t seed) {
    std::string noise;
    for (const float sample : runnel::testing::NoiseOfChangingLevel(num_samples, seed)) {
      const auto value = static_cast<int16_t>(sample * 30000);
      noise += static_cast<char>(value & 0xFF);
      noise += static_cast<char>(value >> 8 & 0xFF);
    }
    Send({false, noise});
  }

  void Pump() {
    session_->Advance();
    while (auto message = session_->TakeMessage()) {
      session_->OnSent(*message);
      messages_.push_back(json::parse(message->text));
    }
    std::this_thread::yield();
  }

  // All messages of the session.
  std::vector<json> ToEnd() {
    while (!session_->closing().has_value()) Pump();
    return std::exchange(messages_, {});
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
  std::atomic<bool> holds_wakes_{false};  // the next wake waits for may_wake_
  std::promise<void> may_wake_;
  std::vector<json> messages_;
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
  for (int num_seen = 0; !session_->closing().has_value();) {
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
  EXPECT_EQ(store_.origin().predecessor, kToken);
  EXPECT_EQ(store_.origin().account, "account");
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
  EXPECT_FALSE(session_->closing().has_value());
  session_ = std::make_shared<LiveSession>(services_, Client{"other", "account"}, nullptr, [] {});
  services_.resume_patience_s = 0;
  Resume();
  session_->Advance();
  EXPECT_EQ(LastCode(), "store_unavailable");
  EXPECT_EQ(session_->closing().value().code, 1013);
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
  EXPECT_FALSE(session_->closing().has_value());
  session_ = std::make_shared<LiveSession>(services_, Client{"other", "account"}, nullptr, [] {});
  services_.drain_patience_s = 0;
  session_->Receive({true, R"({"type":"start","version":1,"resume":true,"chunk_size":4})"});
  session_->Drain();
  session_->Advance();
  EXPECT_EQ(LastCode(), "draining");
  EXPECT_EQ(session_->closing().value().code, 1013);
  store_.LetPut();
}

// A store that is behind is told by the metrics, although nothing was skipped and nothing failed.
TEST_F(SessionSnapshotsTest, WhatWaitsForTheStoreForAnIntervalIsLate) {
  services_.limits.max_speed = 0;
  services_.limits.snapshot_interval_s = 0.05;
  session_ = std::make_shared<LiveSession>(services_, Client{"other", "account"}, nullptr, [] {});
  const auto has = [this](const std::string& series) {
    return metrics_.Text({}).find("runnel_snapshots_total{result=\"" + series) != std::string::npos;
  };
  session_->Receive({true, R"({"type":"start","version":1,"resume":true,"chunk_size":4})"});
  while (!store_.is_putting()) Send({false, std::string(6400, '\1')});
  while (has("late\"} 0")) Send({false, std::string(6400, '\1')});
  EXPECT_TRUE(has("skipped\"} 0") && has("failed\"} 0"));
  EXPECT_EQ(store_.num_puts(), 1);
  store_.LetPut();
}

// An older snapshot that waits to be stored does not replace the last one.
TEST_F(SessionSnapshotsTest, TheLastSnapshotOvertakes) {
  services_.limits.snapshot_interval_s = 1;  // one snapshot of two seconds, besides the last
  std::promise<void> go_on[2];
  for (std::promise<void>& one : go_on)
    threads_.Run([&one] { one.get_future().wait(); }, "account");
  session_->Receive({true, R"({"type":"start","version":1,"resume":true,"chunk_size":4})"});
  session_->Receive({false, std::string(64000, '\1')});
  while (threads_.HasRoom(kMaxBytes, "")) std::this_thread::yield();  // the snapshot waits
  session_->Receive({false, std::string(200, '\1')});                 // which it does not hold
  services_.drain_patience_s = 1000;
  session_->Drain();
  store_.LetPut();
  go_on[0].set_value();  // one thread: what is first is done first
  while (!session_->closing().has_value()) {
    session_->Advance();
    while (session_->TakeMessage().has_value()) {
    }
    std::this_thread::yield();
  }
  while (!threads_.HasRoom(kMaxBytes, "")) std::this_thread::yield();
  go_on[1].set_value();
  EXPECT_EQ(store_.num_puts(), 1);
}

// The utterances of a session, without what depends on time.
std::map<int64_t, json> Utterances(const std::vector<json>& messages) {
  std::map<int64_t, json> utterances;
  for (json message : messages) {
    if (message["type"] != "utterance" && message["type"] != "final") continue;
    message.erase("latency_ms");
    const auto index = message["index"].get<int64_t>();
    EXPECT_TRUE(utterances.emplace(index, message).second) << "utterance " << index << " twice";
  }
  return utterances;
}

constexpr char kStartShort[] = R"({"type":"start","version":1,"resume":true,"chunk_size":4})";

// The client has received some of the utterances, fewer or more than the snapshot knows of.
TEST_F(SessionSnapshotsTest, AResumedClientGetsEachUtteranceOnce) {
  store_.LetPut();
  services_.limits.max_speed = 0;
  services_.limits.snapshot_interval_s = 1000;  // the last one only
  session_ = std::make_shared<LiveSession>(services_, Client{"other", "account"}, nullptr,
                                           [this] { ++wakes_; });
  session_->Receive({true, kStartShort});
  for (uint64_t i = 0; i < 6; ++i) {
    SendNoise(8000, i);
    Send({true, R"({"type":"flush"})"});
  }
  SendNoise(8000, 6);
  while (!session_->CanReceive()) Pump();
  services_.drain_patience_s = 1000;
  session_->Drain();
  const std::vector<json> before = ToEnd();
  ASSERT_EQ(before.back()["code"], "draining");
  const auto snapshot = std::find_if(before.begin(), before.end(), [](const json& message) {
    return message["type"] == "snapshot";
  });
  ASSERT_NE(snapshot, before.end());
  const std::map<int64_t, json> expected = Utterances(before);
  const std::string stored = store_.Get((*snapshot)["token"]).value();
  const int64_t num_stored = UnpackSession(stored).first_utterance;
  for (const int64_t num_received : {0, 1, 3, 6}) {
    store_.Hold(stored);
    session_ = std::make_shared<LiveSession>(services_, Client{"resumed", "account"}, nullptr,
                                             [this] { ++wakes_; });
    session_->Receive({true, std::string(R"({"type":"resume","version":1,"token":")") + kToken +
                                 R"(","utterances":)" + std::to_string(num_received) + "}"});
    session_->Receive({true, R"({"type":"finish"})"});
    const std::vector<json> messages = ToEnd();
    EXPECT_EQ(messages.front()["type"], "resumed");
    EXPECT_EQ(messages.front()["utterances"], num_received);
    for (int64_t index = num_received; index < num_stored; ++index) {
      const json& message = messages.at(static_cast<size_t>(1 + index - num_received));
      EXPECT_EQ(message["index"], index) << "before anything else: " << message;
    }
    const std::map<int64_t, json> utterances = Utterances(messages);
    ASSERT_EQ(utterances.size(), 7U - static_cast<size_t>(num_received));
    EXPECT_EQ(utterances.begin()->first, num_received);
    for (const auto& [index, utterance] : utterances) {
      if (expected.count(index) > 0) {
        EXPECT_EQ(utterance, expected.at(index));
      }
    }
    while (store_.holds(kToken)) std::this_thread::yield();  // removed at the end of the stream
  }
}

TEST_F(SessionSnapshotsTest, AClientThatCountsNoUtterancesGetsNoneAgain) {
  store_.LetPut();
  const auto stream = recognizer_.Open();
  const std::vector<float> samples = runnel::testing::NoiseOfChangingLevel(32000, 1);
  stream->AcceptSamples(samples.data(), samples.size());
  stream->FinalizeUtterance();
  while (stream->is_finalizing()) std::this_thread::yield();
  int64_t first_utterance = -1;
  std::string snapshot;
  while (first_utterance != 1) snapshot = stream->Snapshot(&first_utterance);
  Utterance utterance;
  utterance.nbest.resize(1);
  UtteranceHistory history;
  history.Add(utterance);
  store_.Hold(Pack({1, history.Pack(1), snapshot}));
  Resume();
  session_->Receive({true, R"({"type":"finish"})"});
  const std::vector<json> messages = ToEnd();
  EXPECT_EQ(messages.front()["utterances"], 1);
  for (const json& message : messages) EXPECT_NE(message["type"], "utterance") << message;
}

// The snapshot says whether the texts of its stream show them, not the flag of the new server.
TEST_F(SessionSnapshotsTest, UtterancesShowSpecialTokensAsTheirStreamDoes) {
  store_.LetPut();
  constexpr int32_t kEndToken = 4;
  Recognizer recognizer(runnel::testing::ModelWith(runnel::testing::Heads::kKinds));
  services_.recognizer = &recognizer;
  for (const bool shows_special : {false, true}) {
    services_.default_options.Get()->values.stream.show_special_tokens = !shows_special;
    StreamOptions options;
    options.show_special_tokens = shows_special;
    Utterance utterance;
    utterance.nbest.resize(1);
    utterance.nbest[0].tokens.resize(2);
    utterance.nbest[0].tokens[0].id = 2;
    utterance.nbest[0].tokens[1].id = kEndToken;
    UtteranceHistory history;
    history.Add(utterance);
    store_.Hold(Pack({1, history.Pack(1), recognizer.Open(options)->Snapshot()}));
    session_ = std::make_shared<LiveSession>(services_, Client{"resumed", "account"}, nullptr,
                                             [this] { ++wakes_; });
    session_->Receive(
        {true,
         std::string(R"({"type":"resume","version":1,"utterances":0,"token":")") + kToken + "\"}"});
    session_->Receive({true, R"({"type":"finish"})"});
    const std::vector<json> messages = ToEnd();
    ASSERT_GE(messages.size(), 2U);
    EXPECT_EQ(messages[1]["text"], shows_special ? "a <EOU>" : "a") << messages[1];
    while (store_.holds(kToken)) std::this_thread::yield();  // removed at the end of the stream
  }
  session_.reset();
}

// The worker has taken an utterance from the stream, and its callback is not there yet.
TEST_F(SessionSnapshotsTest, TheLastSnapshotWaitsForAnUpdateUnderWay) {
  store_.LetPut();
  services_.limits.snapshot_interval_s = 1000;
  services_.drain_patience_s = 1000;
  TaskThreads one_thread(1, kMaxBytes, 100);
  services_.store_threads = &one_thread;
  session_ = std::make_shared<LiveSession>(services_, Client{"other", "account"}, nullptr, [this] {
    ++wakes_;
    if (holds_wakes_) may_wake_.get_future().wait();
  });
  session_->Receive({true, kStartShort});
  SendUntil("ready");
  holds_wakes_ = true;
  SendNoise(2000, 1);  // less than a chunk
  session_->Receive({true, R"({"type":"flush"})"});
  while (wakes_ == 0) std::this_thread::yield();  // in the callback
  session_->Drain();
  for (int i = 0; i < 2; ++i) {  // after the task that takes a snapshot, and one that would put it
    std::promise<void> is_done;
    one_thread.RunFirst([&] { is_done.set_value(); }, "account");
    is_done.get_future().wait();
  }
  EXPECT_EQ(store_.num_puts(), 0);
  holds_wakes_ = false;
  may_wake_.set_value();
  const std::vector<json> messages = ToEnd();
  EXPECT_EQ(messages.back()["code"], "draining");
  ASSERT_EQ(store_.num_puts(), 1);
  const auto sent = std::find_if(messages.begin(), messages.end(),
                                 [](const json& message) { return message["type"] == "snapshot"; });
  ASSERT_NE(sent, messages.end());
  const StoredSession stored = UnpackSession(*store_.Get((*sent)["token"]));
  EXPECT_EQ(stored.first_utterance, 1);
  EXPECT_EQ(UtteranceHistory::Unpack(stored.utterances, testing::Tiny()->tokens()).size(), 1U);
  session_.reset();
}

}  // namespace
}  // namespace runnel::server
