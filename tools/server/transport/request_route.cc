#include "tools/server/transport/request_route.h"

#include "tools/server/dialects/protocol_registry.h"
#include "tools/server/transport/http_reply.h"

namespace runnel::server {

Route RouteOf(const RequestHead& head, Refusal refusal) {
  if (refusal != Refusal::kNone) {
    return IsProbe(head.target) ? Route::kReplyAndClose : Route::kRefuse;
  }
  if (head.is_upgrade) return Route::kWebSocket;
  if (head.method == "POST" && TakesRecordings(PathOf(head.target))) return Route::kUpload;
  return head.keeps_alive && !head.has_body ? Route::kReply : Route::kReplyAndClose;
}

}  // namespace runnel::server
