// HttpConnection over a TCP connection of this machine; the client is a plain blocking socket.
#include "tools/server/transport/http_connection.h"

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/temporary_folder.h"

namespace runnel::server {
namespace {

using net::ip::tcp;
using std::chrono::milliseconds;
using InputEnd = HttpConnection::InputEnd;

constexpr std::chrono::seconds kLong{30};

class HttpConnectionTest : public ::testing::Test {
 protected:
  // A connection whose other end is client_.
  std::shared_ptr<HttpConnection> Connect(HttpConnection::Clock::duration linger_time = kLong,
                                          net::ssl::context* tls = nullptr) {
    tcp::acceptor acceptor(io_, tcp::endpoint(net::ip::address_v4::loopback(), 0));
    client_.connect(acceptor.local_endpoint());
    HttpConnection::Options options;
    options.send_timeout = kLong;
    options.linger_time = linger_time;
    ConnectionContext context;
    context.id = "id";
    return std::make_shared<HttpConnection>(AnyStream(acceptor.accept(), tls), std::move(context),
                                            options);
  }

  // Everything up to the server's end.
  std::string ReadAll() {
    std::string text;
    SystemError error;
    net::read(client_, net::dynamic_buffer(text), error);
    EXPECT_EQ(error, net::error::eof);
    return text;
  }

  HttpReply Reply() {
    HttpReply reply;
    reply.status = 503;
    reply.body = "{}";
    reply.headers = {{"Retry-After", "5"}};
    return reply;
  }

  net::io_context io_;
  net::io_context client_io_;
  tcp::socket client_{client_io_};
};

TEST_F(HttpConnectionTest, SendsRepliesAndClosesWhenTheClientDoes) {
  auto connection = Connect();
  const std::shared_ptr<int> slot = std::make_shared<int>();
  connection->SendReply(Reply(), {}, [&](const SystemError& error) {
    ASSERT_FALSE(error);
    connection->CloseAfterReply(slot);
    connection.reset();
  });
  std::thread server([this] { io_.run(); });
  net::write(client_, net::buffer(std::string(100'000, 'x')));  // nobody reads it
  const std::string reply = ReadAll();
  EXPECT_EQ(reply.substr(0, 12), "HTTP/1.1 503");
  EXPECT_NE(reply.find("Retry-After: 5\r\n"), std::string::npos) << reply;
  EXPECT_NE(reply.find("Connection: close\r\n"), std::string::npos) << reply;
  EXPECT_NE(reply.find("Content-Length: 2\r\n"), std::string::npos) << reply;
  EXPECT_EQ(reply.substr(reply.size() - 6), "\r\n\r\n{}");
  EXPECT_EQ(slot.use_count(), 2) << "the slot is held until the client closes";
  client_.close();
  server.join();
  EXPECT_EQ(slot.use_count(), 1);
}

TEST_F(HttpConnectionTest, RepliesToHeadHaveNoBody) {
  auto connection = Connect();
  HttpConnection::ReplyOptions options;
  options.omits_body = true;
  connection->SendReply(Reply(), options,
                        [&](const SystemError& /*error*/) { connection->Close(); });
  io_.run();
  const std::string reply = ReadAll();
  EXPECT_NE(reply.find("Content-Length: 2\r\n"), std::string::npos) << reply;
  EXPECT_EQ(reply.substr(reply.size() - 4), "\r\n\r\n");
}

TEST_F(HttpConnectionTest, SendsRepliesInPieces) {
  auto connection = Connect();
  HttpReply reply;
  reply.content_type = "text/event-stream";
  connection->SendHeader(reply, [&](const SystemError& error) {
    ASSERT_FALSE(error);
    connection->SendPiece("data: 1\n\n", [&](const SystemError& /*error*/) {
      connection->SendEnd(reply, [&](const SystemError& /*error*/) { connection->Close(); });
    });
  });
  io_.run();
  const std::string sent = ReadAll();
  EXPECT_EQ(sent.substr(0, 12), "HTTP/1.1 200");
  EXPECT_NE(sent.find("Content-Type: text/event-stream\r\n"), std::string::npos) << sent;
  EXPECT_NE(sent.find("X-Request-Id: id-1\r\n"), std::string::npos) << sent;
  EXPECT_EQ(sent.substr(sent.find("\r\n\r\n") + 4), "9\r\ndata: 1\n\n\r\n0\r\n\r\n");
}

TEST_F(HttpConnectionTest, ClosesAfterTheLingerTime) {
  Connect(milliseconds(20))->CloseAfterReply();
  io_.run();  // returns, although the client keeps its side open
  EXPECT_EQ(ReadAll(), "");
}

TEST_F(HttpConnectionTest, TellsHowTheInputEnds) {
  for (const InputEnd expected : {InputEnd::kClosed, InputEnd::kBroken}) {
    const auto connection = Connect();
    std::optional<InputEnd> end;
    connection->DiscardInput([&end](InputEnd how) { end = how; });
    net::write(client_, net::buffer(std::string(100'000, 'x')));
    if (expected == InputEnd::kClosed) {
      client_.shutdown(tcp::socket::shutdown_send);
    } else {
      client_.set_option(net::socket_base::linger(true, 0));  // close resets the connection
      client_.close();
    }
    io_.restart();
    io_.run();
    EXPECT_EQ(end, expected);
    connection->CloseAfterReply();  // nothing more to wait for
    io_.restart();
    EXPECT_EQ(io_.run(), 0U);
    client_ = tcp::socket(client_io_);
  }
}

TEST_F(HttpConnectionTest, ContinuesWhileInputIsDiscarded) {
  auto connection = Connect();
  std::optional<InputEnd> end;
  connection->DiscardInput([&end](InputEnd how) { end = how; });
  connection->SendContinue([&](const SystemError& error) {
    EXPECT_FALSE(error);
    connection->CloseAfterReply();
    connection.reset();
  });
  std::thread server([this] { io_.run(); });
  EXPECT_EQ(ReadAll(), "HTTP/1.1 100 Continue\r\n\r\n");
  client_.close();
  server.join();
  EXPECT_EQ(end, std::nullopt) << "CloseAfterReply takes over";
}

// A client that uploads reads the reply when it has sent everything.
TEST_F(HttpConnectionTest, TlsReadsOnWhileTheClientSends) {
  const testing::TemporaryFolder folder;
  const std::string certificate = folder.File("certificate"), key = folder.File("key");
  const std::string command =
      "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -out " + certificate +
      " -keyout " + key + " 2>&1";
  ASSERT_EQ(std::system((command + " >" + folder.File("log")).c_str()), 0);
  net::ssl::context tls(net::ssl::context::tls_server);
  tls.use_certificate_chain_file(certificate);
  tls.use_private_key_file(key, net::ssl::context::pem);
  for (const bool discards_before : {false, true}) {
    auto connection = Connect(kLong, &tls);
    const std::shared_ptr<int> slot = std::make_shared<int>();
    connection->stream().async_handshake(
        net::ssl::stream_base::server, [&](const SystemError& error) {
          ASSERT_FALSE(error);
          if (discards_before) connection->DiscardInput([](InputEnd /*end*/) {});
          connection->SendReply(Reply(), {}, [&](const SystemError& failed) {
            ASSERT_FALSE(failed);
            connection->CloseAfterReply(slot);
            connection.reset();
          });
        });
    std::thread server([this] {
      io_.restart();
      io_.run();
    });
    net::ssl::context trusting(net::ssl::context::tls_client);
    net::ssl::stream<tcp::socket> client(std::move(client_), trusting);
    client.handshake(net::ssl::stream_base::client);
    // More than fits into the buffers of the system.
    SystemError error;
    net::write(client, net::buffer(std::string(size_t{16} << 20, 'x')), error);
    EXPECT_FALSE(error) << error.message();
    std::string reply;
    net::read(client, net::dynamic_buffer(reply), error);
    EXPECT_EQ(error, net::error::eof);
    EXPECT_EQ(reply.substr(0, 12), "HTTP/1.1 503");
    EXPECT_EQ(slot.use_count(), 2) << "the slot is held until the client closes";
    client.next_layer().close();
    server.join();
    EXPECT_EQ(slot.use_count(), 1);
    client_ = tcp::socket(client_io_);
  }
}

}  // namespace
}  // namespace runnel::server
