#include "tools/server/resources/origins.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "tools/server/resources/access.h"

namespace runnel::server {
namespace {

constexpr std::string_view kAll = "*";
constexpr std::string_view kSchemeEnd = "://";
constexpr std::string_view kLocalhost = "localhost";

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Name and port of an origin, in lower case; "" when it has no scheme.
std::string AuthorityOf(std::string_view origin) {
  const size_t scheme = origin.find(kSchemeEnd);
  if (scheme == std::string_view::npos) return "";
  return LowerCase(origin.substr(scheme + kSchemeEnd.size()));
}

// Without the port that browsers leave out.
std::string WithoutUsualPort(std::string authority) {
  for (const std::string_view port : {":80", ":443"}) {
    if (EndsWith(authority, port)) authority.resize(authority.size() - port.size());
  }
  return authority;
}

std::string_view WithoutPort(std::string_view authority) {
  if (!authority.empty() && authority[0] == '[') {
    return authority.substr(1, std::min(authority.find(']'), authority.size()) - 1);
  }
  return authority.substr(0, authority.find(':'));
}

bool IsLocalName(std::string_view name) {
  return name == kLocalhost || EndsWith(name, ".localhost") || !NormalAddress(name).empty();
}

bool IsOrigin(const std::string& text) {
  return text == kAll || text == "null" ||
         (!AuthorityOf(text).empty() && AuthorityOf(text).find('/') == std::string::npos);
}

}  // namespace

OriginRules::OriginRules(const std::string& listed, bool is_local) : is_local_(is_local) {
  for (const std::string& origin : SplitAtCommas(listed)) {
    if (!IsOrigin(origin)) {
      throw std::invalid_argument("--allow_origin has '" + origin +
                                  "', expected an origin such as https://example.org, or *");
    }
    listed_.insert(LowerCase(origin));
  }
}

bool OriginRules::IsListed(std::string_view origin) const {
  return !origin.empty() &&
         (listed_.count(std::string(kAll)) > 0 || listed_.count(LowerCase(origin)) > 0);
}

bool OriginRules::IsAllowed(std::string_view origin, std::string_view host) const {
  if (origin.empty() || IsListed(origin)) return true;
  const std::string own = LowerCase(host);
  const bool is_own =
      !own.empty() && WithoutUsualPort(AuthorityOf(origin)) == WithoutUsualPort(own);
  return is_own && (!is_local_ || IsLocalName(WithoutPort(own)));
}

}  // namespace runnel::server
