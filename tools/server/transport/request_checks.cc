#include "tools/server/transport/request_checks.h"

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <cctype>
#include <iterator>
#include <string>
#include <string_view>

namespace runnel::server {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using Request = http::request<http::empty_body>;

constexpr unsigned kHttp11 = 11;

HttpReply BadRequest(const std::string& message) { return ErrorReply(400, "bad_request", message); }

// The Base64 of 16 bytes.
bool IsWebSocketKey(std::string_view key) {
  constexpr size_t kDigits = 22;
  if (key.size() != kDigits + 2 || key.substr(kDigits) != "==") return false;
  return std::all_of(key.begin(), key.begin() + kDigits,
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '/'; });
}

auto NumLines(const Request& request, http::field name) {
  const auto [begin, end] = request.equal_range(name);
  return std::distance(begin, end);
}

}  // namespace

std::optional<HttpReply> FaultOf(const Request& request) {
  const bool is_old = request.version() < kHttp11;
  const auto num_hosts = NumLines(request, http::field::host);
  if (num_hosts > 1 || (num_hosts == 0 && !is_old)) {
    return BadRequest("expected one header Host");
  }
  if (NumLines(request, http::field::transfer_encoding) > 0) {
    if (is_old) return BadRequest("HTTP/1.0 has no Transfer-Encoding");
    if (NumLines(request, http::field::transfer_encoding) > 1 ||
        !beast::iequals(request[http::field::transfer_encoding], "chunked")) {
      return ErrorReply(501, "bad_request", "Transfer-Encoding: expected chunked");
    }
  }
  if (beast::websocket::is_upgrade(request)) {
    const auto key = request[http::field::sec_websocket_key];
    if (NumLines(request, http::field::sec_websocket_key) != 1 ||
        !IsWebSocketKey({key.data(), key.size()})) {
      return BadRequest("Sec-WebSocket-Key: expected the Base64 of 16 bytes");
    }
  }
  return std::nullopt;
}

std::string_view HostOf(const Request& request) {
  const auto target = request.target();
  const std::string_view authority = AuthorityOf({target.data(), target.size()});
  if (!authority.empty()) return authority;
  const auto host = request[http::field::host];
  return {host.data(), host.size()};
}

}  // namespace runnel::server
