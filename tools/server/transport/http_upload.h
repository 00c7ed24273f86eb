// An uploaded recording: receives the body, decodes it and replies with the result.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_UPLOAD_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_UPLOAD_H_

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>

#include "tools/server/transport/http_connection.h"

namespace runnel::server {

// Serves the POST of a recording and then ends the connection; returns at once. `header` is what
// was read from the connection, and is moved from. `slot` is the slot of the upload. Call it on the
// stream's strand.
void ServeUpload(std::shared_ptr<HttpConnection> connection,
                 beast::http::request_parser<beast::http::empty_body>&& header, Ticket slot);

// The reply to a body beyond max_body_bytes, which is counted.
HttpReply BodyTooLargeReply(const Services& services);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_UPLOAD_H_
