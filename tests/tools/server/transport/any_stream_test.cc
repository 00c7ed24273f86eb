// Connections whose loss is waited for while others end.
#include "tools/network/any_stream.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <optional>

namespace runnel {
namespace {

using net::ip::tcp;

class AnyStreamTest : public testing::Test {
 protected:
  // A connection: the end of the server, and that of the client, whose close resets it.
  std::shared_ptr<AnyStream> Connect(std::optional<tcp::socket>* client) {
    client->emplace(client_io_);
    (*client)->connect(acceptor_.local_endpoint());
    (*client)->set_option(net::socket_base::linger(true, 0));
    tcp::socket server(io_);
    acceptor_.accept(server);
    return std::make_shared<AnyStream>(std::move(server), /*tls=*/nullptr);
  }

  net::io_context io_;
  net::io_context client_io_;  // never runs: the clients' sockets block
  tcp::acceptor acceptor_{io_, {net::ip::address_v4::loopback(), 0}};
};

TEST_F(AnyStreamTest, AResetIsALoss) {
  std::optional<tcp::socket> client;
  const auto stream = Connect(&client);
  int num_losses = 0;
  stream->async_wait_for_loss([&](SystemError error) { num_losses += error ? 0 : 1; });
  client->close();
  while (num_losses == 0) io_.run_one();
  io_.poll();
  EXPECT_EQ(num_losses, 1);
}

TEST_F(AnyStreamTest, CloseEndsTheWait) {
  std::optional<tcp::socket> client;
  const auto stream = Connect(&client);
  std::optional<SystemError> outcome;
  stream->async_wait_for_loss([&](SystemError error) { outcome = error; });
  stream->Close();
  while (!outcome.has_value()) io_.run_one();
  EXPECT_EQ(*outcome, net::error::operation_aborted);
}

// The loop has taken the reset of a connection when that is closed, and another opened.
TEST_F(AnyStreamTest, AResetOfAnotherConnectionIsNoLoss) {
  std::optional<tcp::socket> trigger;
  std::optional<tcp::socket> rude;
  std::optional<tcp::socket> honest;
  const auto first = Connect(&trigger);
  auto reset = Connect(&rude);
  std::shared_ptr<AnyStream> later;
  int num_losses = 0;
  char byte = 0;
  first->async_read_some(net::buffer(&byte, 1), [&](SystemError, size_t) {
    reset->Close();
    reset.reset();
    later = Connect(&honest);
    later->async_wait_for_loss([&](SystemError error) { num_losses += error ? 0 : 1; });
  });
  io_.poll();
  trigger->send(net::buffer("x", 1));
  rude->close();
  while (later == nullptr) io_.run_one();
  io_.poll();
  EXPECT_EQ(num_losses, 0);
  honest->close();
  while (num_losses == 0) io_.run_one();
  EXPECT_EQ(num_losses, 1);
}

}  // namespace
}  // namespace runnel
