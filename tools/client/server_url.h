// The URL of a server: ws://host:port/path or wss://host:port/path.
#ifndef RUNNEL_TOOLS_CLIENT_SERVER_URL_H_
#define RUNNEL_TOOLS_CLIENT_SERVER_URL_H_

#include <cstdint>
#include <string>
#include <vector>

namespace runnel::client {

struct ServerUrl {
  bool is_tls = false;  // wss
  std::string host;     // a name or an address, IPv6 without brackets
  uint16_t port = 0;    // 1 to 65535; 80 (ws) or 443 (wss) when the URL has none
  std::string target;   // path and query, begins with /

  // As in a Host header: IPv6 in brackets, no default port.
  std::string Authority() const;
  // The whole URL.
  std::string Text() const;
};

// Accepts the schemes ws and wss, and http and https in their place (servers print these for
// browsers), in upper or lower case. Throws std::invalid_argument, which names the URL, for another
// scheme or none, a missing host, an invalid port, user names, a fragment, white space or control
// characters.
ServerUrl ParseServerUrl(const std::string& text);

// One or several URLs, separated by commas. Throws as ParseServerUrl does, also on an empty list.
std::vector<ServerUrl> ParseServerUrls(const std::string& text);

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_SERVER_URL_H_
