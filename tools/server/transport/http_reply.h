// Answers to plain HTTP requests that need no stream: health, metrics, the web page, refusals.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below http_session).
#ifndef RUNNEL_TOOLS_SERVER_HTTP_REPLY_H_
#define RUNNEL_TOOLS_SERVER_HTTP_REPLY_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/server/services.h"

namespace runnel::server {

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

constexpr char kRecognizePath[] = "/v1/recognize";

// {"error":{"code","message"}}.
HttpReply ErrorReply(int status, const std::string& code, const std::string& message);

// For a place that was not given: 503 with Retry-After, and counts the rejection.
HttpReply RefusalReply(Refusal refusal, Metrics* metrics);

// Any request but an upgrade and a well-formed upload. `method`: "GET"; `target`: "/healthz?x".
HttpReply Answer(const Services& services, std::string_view method, std::string_view target);

// Whether the target says how the server is: answered when the connections are full, too.
bool IsProbe(std::string_view target);

// The path of a request's target, without the query.
std::string_view PathOf(std::string_view target);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_HTTP_REPLY_H_
