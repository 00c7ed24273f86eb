// Connections that come while a port is closed.
#include "tools/server/transport/acceptor.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>

namespace runnel::server {
namespace {

using boost::asio::ip::tcp;

TEST(Acceptor, AConnectionAcceptedBeforeTheEndIsNotServedAfterIt) {
  boost::asio::io_context io;
  int num_served = 0;
  auto acceptor =
      std::make_unique<Acceptor>(&io, "127.0.0.1", 0, [&](const tcp::socket&) { ++num_served; });
  acceptor->Start();
  const tcp::endpoint port(boost::asio::ip::address_v4::loopback(), acceptor->port());
  tcp::socket first(io);
  tcp::socket second(io);
  first.connect(port);
  second.connect(port);
  while (num_served == 0) io.run_one();
  acceptor.reset();
  io.poll();
  EXPECT_EQ(num_served, 1);
}

}  // namespace
}  // namespace runnel::server
