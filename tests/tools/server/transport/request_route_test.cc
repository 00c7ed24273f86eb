#include "tools/server/transport/request_route.h"

#include <gtest/gtest.h>

#include <vector>

namespace runnel::server {
namespace {

RequestHead Head(std::string_view method, std::string_view target) {
  RequestHead head;
  head.method = method;
  head.target = target;
  head.keeps_alive = true;
  return head;
}

TEST(RouteOf, ServesUploadsWebSocketsAndPlainRequests) {
  struct Case {
    RequestHead head;
    Route expected;
  };
  RequestHead upgrade = Head("GET", "/any/path");
  upgrade.is_upgrade = true;
  RequestHead with_body = Head("GET", "/healthz");
  with_body.has_body = true;
  RequestHead last = Head("GET", "/");
  last.keeps_alive = false;
  RequestHead last_upload = Head("POST", "/v1/recognize");
  last_upload.keeps_alive = false;
  last_upload.has_body = true;
  for (const Case& c : std::vector<Case>{{Head("GET", "/"), Route::kReply},
                                         {Head("GET", "/healthz"), Route::kReply},
                                         {Head("POST", "/v1/recognize"), Route::kUpload},
                                         {Head("POST", "/v1/recognize?nbest=2"), Route::kUpload},
                                         {last_upload, Route::kUpload},
                                         {Head("POST", "/v1/audio/transcriptions"), Route::kUpload},
                                         {Head("POST", "/v1/listen?model=x"), Route::kUpload},
                                         {Head("GET", "/v1/listen"), Route::kReply},
                                         {Head("GET", "/v1/audio/transcriptions"), Route::kReply},
                                         {Head("GET", "/v1/models"), Route::kReply},
                                         {Head("GET", "/v1/recognize"), Route::kReply},
                                         {Head("POST", "/v1/recognizer"), Route::kReply},
                                         {Head("POST", "/"), Route::kReply},
                                         {upgrade, Route::kWebSocket},
                                         {with_body, Route::kReplyAndClose},
                                         {last, Route::kReplyAndClose}}) {
    EXPECT_EQ(RouteOf(c.head, Refusal::kNone), c.expected) << c.head.method << ' ' << c.head.target;
  }
}

TEST(RouteOf, LetsRefusedConnectionsProbeOnly) {
  RequestHead upgrade = Head("GET", "/");
  upgrade.is_upgrade = true;
  for (const Refusal refusal : {Refusal::kConnections, Refusal::kAddressConnections}) {
    for (const char* target : {"/healthz", "/readyz", "/metrics", "/healthz?x=1"}) {
      EXPECT_EQ(RouteOf(Head("GET", target), refusal), Route::kReplyAndClose) << target;
    }
    EXPECT_EQ(RouteOf(Head("GET", "/"), refusal), Route::kRefuse);
    EXPECT_EQ(RouteOf(Head("POST", "/v1/recognize"), refusal), Route::kRefuse);
    EXPECT_EQ(RouteOf(upgrade, refusal), Route::kRefuse);
  }
}

}  // namespace
}  // namespace runnel::server
