// Where a server is: ws://host:port/path or wss://host:port/path.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below client/connection).
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

  // As in a Host header: with brackets around IPv6 and without a port that is the default.
  std::string Authority() const;
  // The whole, as a browser would show it.
  std::string Text() const;
};

// Schemes ws and wss, and http and https for them (what servers print for browsers), in any case.
// Throws std::invalid_argument that names the URL and what is wrong with it: another scheme or
// none, no host, a port that is none, user names, a fragment, white space or control characters.
ServerUrl ParseServerUrl(const std::string& text);

// One or several, separated by commas. Throws as ParseServerUrl does, also on none.
std::vector<ServerUrl> ParseServerUrls(const std::string& text);

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_SERVER_URL_H_
