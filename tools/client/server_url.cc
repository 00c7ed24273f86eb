#include "tools/client/server_url.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace runnel::client {
namespace {

constexpr uint16_t kDefaultPort = 80;
constexpr uint16_t kDefaultTlsPort = 443;

[[noreturn]] void Fail(const std::string& text, const std::string& reason) {
  throw std::invalid_argument("server URL '" + text + "' " + reason +
                              ", expected something like ws://127.0.0.1:8080/");
}

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return text;
}

bool IsTlsScheme(const std::string& text, const std::string& scheme) {
  if (scheme == "ws" || scheme == "http") return false;
  if (scheme == "wss" || scheme == "https") return true;
  Fail(text, "has the scheme '" + scheme + "'");
}

uint16_t ParsePort(const std::string& text, std::string_view digits) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size() || port < 1 || port > 65535) {
    Fail(text, "has the port '" + std::string(digits) + "'");
  }
  return static_cast<uint16_t>(port);
}

}  // namespace

std::string ServerUrl::Authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  const bool is_default = port == (is_tls ? kDefaultTlsPort : kDefaultPort);
  return is_default ? name : name + ":" + std::to_string(port);
}

std::string ServerUrl::Text() const { return (is_tls ? "wss://" : "ws://") + Authority() + target; }

ServerUrl ParseServerUrl(const std::string& text) {
  if (std::any_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) == 0x7F;
      })) {
    Fail(text, "has white space or control characters in it");
  }
  const size_t scheme_end = text.find("://");
  if (scheme_end == std::string::npos) Fail(text, "has no scheme");
  ServerUrl url;
  url.is_tls = IsTlsScheme(text, LowerCase(text.substr(0, scheme_end)));
  url.port = url.is_tls ? kDefaultTlsPort : kDefaultPort;

  const size_t begin = scheme_end + 3;
  const size_t end = std::min(text.find_first_of("/?#", begin), text.size());
  url.target = text.substr(end);
  if (url.target.find('#') != std::string::npos) Fail(text, "has a fragment (#)");
  if (url.target.empty() || url.target[0] != '/') url.target.insert(0, "/");

  const std::string authority = text.substr(begin, end - begin);
  if (authority.find('@') != std::string::npos) {
    Fail(text, "has a user name (a token is given by --bearer_token)");
  }
  size_t host_end = authority.find(':');
  if (!authority.empty() && authority[0] == '[') {
    const size_t bracket = authority.find(']');
    if (bracket == std::string::npos) Fail(text, "has a [ without a ]");
    url.host = authority.substr(1, bracket - 1);
    host_end = bracket + 1;
    if (host_end < authority.size() && authority[host_end] != ':') {
      Fail(text, "has something between ] and the port");
    }
  } else {
    url.host = authority.substr(0, host_end);
  }
  if (url.host.empty()) Fail(text, "has no host");
  if (host_end < authority.size()) {
    url.port = ParsePort(text, std::string_view(authority).substr(host_end + 1));
  }
  return url;
}

std::vector<ServerUrl> ParseServerUrls(const std::string& text) {
  std::vector<ServerUrl> urls;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    urls.push_back(ParseServerUrl(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return urls;
}

}  // namespace runnel::client
