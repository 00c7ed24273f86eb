// The bytes of a session in the snapshot store.
#include "tools/server/session/stored_session.h"

#include <gtest/gtest.h>

namespace runnel::server {
namespace {

TEST(StoredSession, ComesBackAsItWas) {
  const std::string stream("snapshot\n\0 of a stream\n", 23);
  const std::string bytes = Pack({7, stream});
  EXPECT_EQ(bytes, "runnel-session 1 7\n" + stream);
  const std::optional<StoredSession> session = Unpack(bytes);
  ASSERT_TRUE(session.has_value());
  EXPECT_EQ(session->nbest, 7);
  EXPECT_EQ(session->stream, stream);
  EXPECT_EQ(Unpack("runnel-session 1 1\n")->stream, "");
}

TEST(StoredSession, OtherBytesAreNoSession) {
  for (const char* bytes :
       {"", "runnel", "runnel-session 1 ", "runnel-session 1 1", "runnel-session 2 1\n",
        "runnel-session 1 0\n", "runnel-session 1 -1\n", "runnel-session 1 1x\n",
        "runnel-session 1 \n", "runnel-session 1 99999999999\n", " runnel-session 1 1\n"}) {
    EXPECT_FALSE(Unpack(bytes).has_value()) << bytes;
  }
}

}  // namespace
}  // namespace runnel::server
