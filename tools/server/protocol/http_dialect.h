// What clients of one service send and read over HTTP that those of others do not.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_HTTP_DIALECT_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_HTTP_DIALECT_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace runnel::server {

struct HttpErrorText {
  std::string code;  // as for HttpErrorBody
  std::string message;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<HttpErrorText> error{};  // that the body holds, of an ErrorReply
};

// Where clients have the server's token that cannot send "Authorization: Bearer <token>".
struct TokenPlaces {
  std::vector<std::string> schemes;    // of the header Authorization, in lower case
  std::vector<std::string> names;      // of subprotocols that are offered before the token
  std::vector<std::string> prefixes;   // of a subprotocol that ends with the token
  std::vector<std::string> headers{};  // whose value is the token
};

struct HttpDialect {
  // Whether the requests to `path`, which does not end with a slash, come from these clients.
  bool (*is_for)(std::string_view path) = nullptr;
  TokenPlaces token_places;
  // The code of the error of a client without the token.
  std::string unauthorized_code;
  // `reply` to a recording, or to a request that is refused, in the words of these clients.
  HttpReply (*in_words)(HttpReply reply, const std::string& request_id) = nullptr;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_HTTP_DIALECT_H_
