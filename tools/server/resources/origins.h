// Which web pages may use the server.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_ORIGINS_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_ORIGINS_H_

#include <set>
#include <string>
#include <string_view>

namespace runnel::server {

// Browsers name the origin of the page that makes a request, other clients do not. Without this
// check, any page that a user opens could use a server that only this user's machine can reach.
// Immutable.
class OriginRules {
 public:
  // `listed`: origins of pages, such as https://example.org, separated by commas, or "*" for all.
  // `is_local`: clients of this machine only use the server. Throws std::invalid_argument when an
  // entry is not an origin.
  OriginRules(const std::string& listed, bool is_local);

  // Whether pages of this origin may also read the replies of HTTP (CORS).
  bool IsListed(std::string_view origin) const;

  // Whether a page of this origin may use the server. `host`: that the request is for. Allowed are
  // listed origins and the server's own pages: the origin has the host's name and port. For a local
  // server the host must be an IP address or localhost, because any name may be made to mean this
  // machine (DNS rebinding). `origin` "": no page.
  bool IsAllowed(std::string_view origin, std::string_view host) const;

 private:
  std::set<std::string> listed_;  // in lower case
  const bool is_local_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_ORIGINS_H_
