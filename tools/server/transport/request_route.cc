#include "tools/server/transport/request_route.h"

#include "tools/server/transport/http_reply.h"

namespace runnel::server {

Route RouteOf(const RequestHead& head, Refusal refusal) {
  if (refusal != Refusal::kNone) {
    return IsProbe(head.target) ? Route::kReplyAndClose : Route::kRefuse;
  }
  if (head.is_upgrade) return Route::kWebSocket;
  const std::string_view path = PathOf(head.target);
  const bool takes_recordings = path == kRecognizePath || path == kTranscriptionsPath;
  if (head.method == "POST" && takes_recordings) return Route::kUpload;
  return head.keeps_alive && !head.has_body ? Route::kReply : Route::kReplyAndClose;
}

}  // namespace runnel::server
