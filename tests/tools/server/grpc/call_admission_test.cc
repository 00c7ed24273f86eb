#include "tools/server/grpc/call_admission.h"

#include <gtest/gtest.h>

namespace runnel::server {
namespace {

TEST(PeerAddress, IsTheAddressWithoutThePort) {
  EXPECT_EQ(PeerAddress("ipv4:127.0.0.1:50000"), "127.0.0.1");
  EXPECT_EQ(PeerAddress("ipv6:%5B::1%5D:50000"), "::1");
  EXPECT_EQ(PeerAddress("ipv6:[::1]:50000"), "::1");
  EXPECT_EQ(PeerAddress("ipv6:[::ffff:10.1.2.3]:50000"), "10.1.2.3");
  EXPECT_EQ(PeerAddress("ipv6:%5B2001:DB8::1%5D:1"), "2001:db8::1");
  EXPECT_EQ(PeerAddress("unix:/tmp/socket"), "");
  EXPECT_EQ(PeerAddress(""), "");
}

}  // namespace
}  // namespace runnel::server
