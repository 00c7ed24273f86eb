// A connection of the Wyoming protocol whose handlers run one by one, so that what the slots of its
// utterances see comes in a given order.
#include "tools/server/transport/wyoming_connection.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/tiny_streams.h"

namespace runnel::server {
namespace {

using net::ip::tcp;

constexpr std::chrono::milliseconds kStep{20};

constexpr char kAddress[] = "127.0.0.1";
constexpr char kStart[] = R"({"type":"audio-start","data":{"rate":16000,"width":2,"channels":1}})"
                          "\n";
constexpr char kStop[] = "{\"type\":\"audio-stop\"}\n";
constexpr char kPing[] = "{\"type\":\"ping\"}\n";

Limits OneStream() {
  Limits limits;
  limits.max_streams = 1;
  return limits;
}

class WyomingConnectionTest : public ::testing::Test {
 protected:
  WyomingConnectionTest() {
    services_.limits = OneStream();
    services_.recognizer = &recognizer_;
    services_.admission = &admission_;
    services_.metrics = &metrics_;
    services_.file_threads = &file_threads_;
    shared_.services = &services_;
    shared_.registry = &registry_;
    tcp::acceptor acceptor(io_, tcp::endpoint(net::ip::address_v4::loopback(), 0));
    client_.connect(acceptor.local_endpoint());
    ConnectionContext context;
    context.shared = &shared_;
    context.id = "id";
    context.address = kAddress;
    ServeWyoming(AnyStream(acceptor.accept(strand_), nullptr), std::move(context), "");
  }
  // Ends the connection.
  ~WyomingConnectionTest() override {
    client_.close();
    io_.run();
  }

  void Send(const std::string& events) { net::write(client_, net::buffer(events)); }

  // Runs handlers until the client has received `text`, which is the last that it reads. What a
  // handler has sent is read before the next one runs.
  void RunUntil(const std::string& text) {
    received_.clear();
    while (received_.find(text) == std::string::npos) {
      io_.run_one_for(kStep);
      pollfd client{client_.native_handle(), POLLIN, 0};
      if (::poll(&client, 1, kStep.count()) == 0) continue;
      std::array<char, 4096> bytes{};
      SystemError error;
      received_.append(bytes.data(), client_.read_some(net::buffer(bytes), error));
      ASSERT_FALSE(error) << error << " after " << received_;
    }
  }

  // Takes the slot of the utterance for another stream, which ends at once.
  void TakeSlot() {
    Refusal refusal = Refusal::kNone;
    while (admission_.AdmitStream(AccountOf(kAddress), &refusal) == nullptr) {
      std::this_thread::sleep_for(kStep);
    }
  }

  Recognizer recognizer_{testing::Tiny(), RecognizerOptions()};
  Admission admission_{OneStream()};
  Metrics metrics_;
  TaskThreads file_threads_{1, 1 << 20, 100};
  SessionRegistry registry_;
  Services services_;
  ConnectionServices shared_;
  net::io_context io_;
  net::strand<net::io_context::executor_type> strand_ = net::make_strand(io_);
  net::io_context client_io_;
  tcp::socket client_{client_io_};
  std::string received_;
};

TEST_F(WyomingConnectionTest, AnUtteranceWhoseSlotIsTakenEnds) {
  Send(std::string(kStart) + kPing);
  RunUntil("pong");
  TakeSlot();
  RunUntil("idle_timeout");
}

// The last event of the first utterance was written, which the connection hears of first.
TEST_F(WyomingConnectionTest, TheNextUtteranceKeepsItsSlot) {
  Send(std::string(kStart) + kStop + kStart + kPing);
  RunUntil("transcript-stop");
  net::post(strand_, [this] { TakeSlot(); });
  RunUntil("pong");
  Send(kStop);
  RunUntil("transcript-stop");
  EXPECT_EQ(received_.find("error"), std::string::npos) << received_;
}

}  // namespace
}  // namespace runnel::server
