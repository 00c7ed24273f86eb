// Replies to HTTP requests that need no stream: health, metrics, the web page, refusals.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_REPLY_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_REPLY_H_

#include <string>
#include <string_view>

#include "tools/server/protocol/http_dialect.h"
#include "tools/server/protocol/protocol_error.h"
#include "tools/server/resources/services.h"

namespace runnel::server {

// The reply whose body is HttpErrorBody.
HttpReply ErrorReply(int status, const std::string& code, const std::string& message,
                     const std::string& param = "");

// The same with the status of the error: 400, 413, 422, 500 or 503.
HttpReply ErrorReply(const ProtocolError& error, const std::string& param = "");

// The reply to a client that was refused a slot: 503 with Retry-After. Counts the rejection.
HttpReply RefusalReply(Refusal refusal, Metrics* metrics);

// The reply to any request but an upgrade and the POST of a recording. `method` is e.g. "GET";
// `target` is e.g. "/healthz?x".
HttpReply Answer(const Services& services, std::string_view method, std::string_view target);

// The same for the admin port, which has the probes only. `hung_s`: for how long a network thread
// has not answered; above 0 the server is not healthy.
HttpReply AdminAnswer(const Services& services, double hung_s, std::string_view method,
                      std::string_view target);

// Whether clients need the bearer token for Answer's reply.
bool NeedsToken(std::string_view target);

// Whether the target is a health probe or the metrics, which are also served when all connections
// are taken.
bool IsProbe(std::string_view target);

// The host and port in a target such as "http://host:80/path"; "" in a path.
std::string_view AuthorityOf(std::string_view target);

// The path of a request's target as ServicePath has it, without the query; of "http://host/path",
// which a proxy may send, the path.
std::string PathOf(std::string_view target);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_REPLY_H_
