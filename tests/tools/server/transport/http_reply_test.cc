// Replies of the server that need no model.
#include "tools/server/transport/http_reply.h"

#include <gtest/gtest.h>

#include <string>

namespace runnel::server {
namespace {

TEST(AdminAnswer, SaysThatTheNetworkThreadsHang) {
  const Services services;
  for (const char* target : {"/healthz", "/readyz", "/healthz?x=1"}) {
    const HttpReply reply = AdminAnswer(services, /*hung_s=*/12, "GET", target);
    EXPECT_EQ(reply.status, 503) << target;
    EXPECT_EQ(reply.body, "hung: no network thread has answered for 12 s\n") << target;
  }
  EXPECT_EQ(AdminAnswer(services, /*hung_s=*/0, "GET", "/healthz").status, 200);
  EXPECT_EQ(AdminAnswer(services, /*hung_s=*/12, "GET", "/").status, 404);
}

}  // namespace
}  // namespace runnel::server
