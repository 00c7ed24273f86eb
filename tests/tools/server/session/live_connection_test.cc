// A connection whose transport the test is: what it asks of the transport, and how it ends.
#include "tools/server/session/live_connection.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/tiny_streams.h"

namespace runnel::server {
namespace {

constexpr char kStartMessage[] = R"({"type":"start","version":1})";

// Limits, services and a strand that the test runs.
struct FakeServer {
  explicit FakeServer(const Limits& limits = {}) {
    services.limits = limits;
    services.recognizer = &recognizer;
    services.metrics = &metrics;
    services.file_threads = &file_threads;
  }

  // As the server does when its threads have ended: connections that are open are dropped.
  ~FakeServer() { registry.Clear(); }

  LiveConnection::Executor MakeExecutor() {
    return [this](std::function<void()> work) {
      const std::lock_guard<std::mutex> lock(mutex);
      posted.push_back(std::move(work));
    };
  }
  void RunPosted() {
    std::vector<std::function<void()>> taken;
    {
      const std::lock_guard<std::mutex> lock(mutex);
      taken.swap(posted);
    }
    for (const auto& work : taken) work();
  }

  // Of a counter, "" for one that counted nothing.
  std::string Count(const std::string& series) const {
    const std::string text = metrics.Text({});
    const size_t found = text.find(series + " ");
    if (found == std::string::npos) return "";
    const size_t value = found + series.size() + 1;
    return text.substr(value, text.find('\n', value) - value);
  }

  std::mutex mutex;
  std::vector<std::function<void()>> posted;
  Recognizer recognizer{testing::Tiny(), RecognizerOptions()};
  Metrics metrics;
  TaskThreads file_threads{1, 0, 100};
  SessionRegistry registry;
  Services services;
};

class FakeTransport : public LiveTransport, public std::enable_shared_from_this<FakeTransport> {
 public:
  explicit FakeTransport(FakeServer* server)
      : live(this, server->services, {"id", "account"}, "connection"), server_(server) {}

  void Start() {
    live.Start(shared_from_this(), server_->MakeExecutor(), &server_->registry, nullptr);
    live.BeginSession(nullptr);
  }
  void Receive(const std::string& text) {
    live.session().Receive({/*is_text=*/true, text});
    live.Pump();
  }
  void SendAll() {
    while (live.is_sending()) live.OnWritten();
  }

  void Read() override { ++num_reads; }
  void Write(const std::string& message) override { written.push_back(message); }
  void Close(const Closing& closing) override { close_codes.push_back(closing.code); }
  void Disconnect() override {
    ++num_disconnects;
    live.OnDisconnect();
  }
  bool IsWatching() const override { return true; }
  void WaitUntil(Clock::time_point deadline) override { wait_until = deadline; }

  LiveConnection live;
  int num_reads = 0;
  std::vector<std::string> written;
  std::vector<int> close_codes;
  int num_disconnects = 0;
  Clock::time_point wait_until;

 private:
  FakeServer* const server_;
};

// Keeps what takes it from its stream.
class FakeShare : public Shares::Share {
 public:
  explicit FakeShare(std::function<void()>* give_up) : give_up_(give_up) {}
  void Use(Shares::Time /*now*/) override {}
  void Offer(Shares::Duration /*patience*/, std::function<void()> give_up) override {
    if (give_up != nullptr) *give_up_ = std::move(give_up);
  }
  bool Grow(int64_t /*amount*/, Shares::Time /*now*/) override { return true; }

 private:
  std::function<void()>* const give_up_;
};

Ticket SlotOf(std::function<void()>* give_up) {
  return std::make_shared<Slot>(std::make_shared<FakeShare>(give_up));
}

TEST(LiveConnection, AClosedSessionIsNotReadFrom) {
  FakeServer server;
  const auto client = std::make_shared<FakeTransport>(&server);
  client->Start();
  client->live.Pump();
  EXPECT_EQ(client->num_reads, 0) << "it is not open";
  client->live.Open();
  EXPECT_EQ(client->num_reads, 1);
  client->Receive("no message of any protocol");
  const int num_reads = client->num_reads;
  ASSERT_EQ(client->written.size(), 1U);
  EXPECT_TRUE(client->close_codes.empty()) << "before the error was sent";
  client->SendAll();
  EXPECT_EQ(client->close_codes.size(), 1U);
  EXPECT_FALSE(client->live.is_open());
  EXPECT_EQ(client->num_reads, num_reads);
}

TEST(LiveConnection, AClientThatDoesNotReadIsCutOff) {
  Limits limits;
  limits.send_timeout_s = 0;  // over at once
  FakeServer server(limits);
  const auto client = std::make_shared<FakeTransport>(&server);
  client->Start();
  client->live.Open();
  client->live.OnTimer();
  EXPECT_EQ(client->num_disconnects, 0) << "nothing is being sent";
  client->Receive(kStartMessage);
  ASSERT_EQ(client->written.size(), 1U);
  EXPECT_LE(client->wait_until, LiveTransport::Clock::now()) << "the deadline of the message";
  client->live.OnTimer();
  EXPECT_EQ(client->num_disconnects, 1);
  EXPECT_EQ(server.Count(R"(runnel_rejections_total{reason="slow_reader"})"), "1");
}

TEST(LiveConnection, AnExceptionEndsTheConnection) {
  FakeServer server;
  const auto client = std::make_shared<FakeTransport>(&server);
  client->Start();
  client->live.Open();
  client->live.Guard([] { throw std::runtime_error("a fault"); });
  EXPECT_EQ(client->num_disconnects, 1);
  EXPECT_EQ(server.Count(R"(runnel_errors_total{code="internal"})"), "1");
}

TEST(LiveConnection, AServerThatShutsDownEndsTheSession) {
  FakeServer server;
  auto client = std::make_shared<FakeTransport>(&server);
  client->Start();
  client->live.Open();
  client->Receive(kStartMessage);
  client->SendAll();
  const std::weak_ptr<FakeTransport> weak = client;
  client = nullptr;
  ASSERT_FALSE(weak.expired()) << "the registry holds it during the session";
  server.registry.DrainAll();
  server.RunPosted();
  client = weak.lock();
  ASSERT_NE(client, nullptr);
  EXPECT_NE(client->written.back().find("draining"), std::string::npos) << client->written.back();
  client->SendAll();
  EXPECT_EQ(client->close_codes.size(), 1U);
  client = nullptr;
  EXPECT_TRUE(weak.expired());
}

// However long its client takes to close.
TEST(LiveConnection, AStreamWhoseLastMessageWasSentHoldsNoSlot) {
  FakeServer server;
  const auto client = std::make_shared<FakeTransport>(&server);
  client->Start();
  client->live.Open();
  std::function<void()> give_up;
  Ticket slot = SlotOf(&give_up);
  const std::weak_ptr<Slot> weak = slot;
  client->live.HoldStreamSlot(std::move(slot));
  client->Receive("no message of any protocol");
  ASSERT_EQ(client->written.size(), 1U);
  EXPECT_FALSE(weak.expired());
  client->SendAll();
  EXPECT_EQ(client->close_codes.size(), 1U);
  EXPECT_EQ(client->num_disconnects, 0);
  EXPECT_TRUE(weak.expired());
}

// Whoever has finished gives the connection to others, too.
TEST(LiveConnection, AConnectionThatWaitsForItsClientToCloseIsOffered) {
  FakeServer server;
  const auto client = std::make_shared<FakeTransport>(&server);
  std::function<void()> give_up;
  client->live.Start(client, server.MakeExecutor(), &server.registry, SlotOf(&give_up));
  client->live.BeginSession(nullptr);
  client->live.Open();
  client->Receive("no message of any protocol");
  client->SendAll();
  ASSERT_NE(give_up, nullptr);
  give_up();
  server.RunPosted();
  EXPECT_EQ(client->num_disconnects, 1);
}

TEST(LiveConnection, OnlyTheSessionThatLostItsSlotEnds) {
  FakeServer server;
  const auto client = std::make_shared<FakeTransport>(&server);
  client->Start();
  client->live.Open();
  std::function<void()> give_up;
  client->live.HoldStreamSlot(SlotOf(&give_up));
  ASSERT_NE(give_up, nullptr);
  give_up();
  client->live.BeginSession(nullptr);  // before the connection hears of it
  client->live.HoldStreamSlot(SlotOf(&give_up));
  server.RunPosted();
  EXPECT_TRUE(client->live.has_stream_slot());
  EXPECT_TRUE(client->written.empty());
  give_up();
  server.RunPosted();
  EXPECT_FALSE(client->live.has_stream_slot());
  ASSERT_EQ(client->written.size(), 1U);
  EXPECT_NE(client->written[0].find("idle_timeout"), std::string::npos) << client->written[0];
  EXPECT_EQ(server.Count(R"(runnel_rejections_total{reason="idle_timeout"})"), "1");
}

TEST(LiveConnection, ALongMessageIsRefused) {
  FakeServer server;
  const auto client = std::make_shared<FakeTransport>(&server);
  client->Start();
  client->live.Open();
  const size_t most = client->live.session().max_message_bytes();
  EXPECT_TRUE(client->live.CheckSize(most));
  EXPECT_FALSE(client->live.CheckSize(most + 1));
  client->live.Pump();
  ASSERT_EQ(client->written.size(), 1U);
  EXPECT_NE(client->written[0].find(std::to_string(most) + " bytes"), std::string::npos);
  EXPECT_EQ(server.Count(R"(runnel_rejections_total{reason="message_too_large"})"), "1");
}

}  // namespace
}  // namespace runnel::server
