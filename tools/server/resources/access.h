// Checks a client's bearer token, and finds its address behind a proxy.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_ACCESS_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_ACCESS_H_

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/server/protocol/http_dialect.h"
#include "tools/server/resources/replaceable.h"

namespace runnel::server {

// Thread-safe.
class AccessRules {
 public:
  // `token`: the bearer token that clients must send; empty: none. `trusted_proxies`: IP addresses
  // in any notation, separated by commas, whose X-Forwarded-For is believed. Throws
  // std::invalid_argument when one of them is not an IP address. `places`: where else than after
  // "Bearer" in the header Authorization, and in the query, a token may be.
  AccessRules(std::string token, const std::string& trusted_proxies, TokenPlaces places = {});

  // Whether clients need a token.
  bool has_token() const { return !token_.Get()->empty(); }
  // Another one from now on.
  void SetToken(std::string token) { token_.Set(std::move(token)); }

  // `authorization`: value of the header; `target`: of the request, perhaps with ?token=;
  // `subprotocols`: that a WebSocket client offers. Browsers cannot send the header, and some
  // clients have the token there. Takes the same time for all wrong tokens of one length.
  bool IsAllowed(std::string_view authorization, std::string_view target,
                 const std::vector<std::string>& subprotocols = {}) const;

  // Whether the peer is a trusted proxy.
  bool IsTrusted(const std::string& peer) const;

  // The client's address: `peer`, or, when that is a trusted proxy, the last entry of
  // X-Forwarded-For that is not a trusted proxy itself. An entry may have a port, and IPv6
  // brackets. Logs an entry that is not an IP address, and returns `peer` for it.
  std::string ClientAddress(const std::string& peer, std::string_view forwarded_for) const;

 private:
  // The token in "<scheme> <token>"; "" for a scheme of no client.
  std::string AfterScheme(std::string_view authorization) const;
  std::string TokenAmong(const std::vector<std::string>& subprotocols) const;

  Replaceable<std::string> token_;
  const TokenPlaces places_;
  std::set<std::string> trusted_proxies_;  // as NormalAddress
};

// The parts of `text` between commas, trimmed. Empty parts are left out.
std::vector<std::string> SplitAtCommas(std::string_view text);

// An IP address in the notation in which addresses are compared: IPv6 in its shortest form without
// a scope, IPv4 within IPv6 as IPv4. "" when `text` is not an IP address.
std::string NormalAddress(std::string_view text);

// Whose share of the server a client at `address` uses: an IPv4 address, or the /64 network of an
// IPv6 address, such as "2001:db8::/64", because one customer has all of it. The loopback address
// and a text that is not an IP address are returned as they are.
std::string AccountOf(const std::string& address);

// `text` with a byte for every %XX, and a space for every plus sign.
std::string PercentDecoded(std::string_view text);

// The fields (name, value) of the query in a request's target, in order and percent-decoded. A
// field without "=" has the value "".
std::vector<std::pair<std::string, std::string>> QueryFields(std::string_view target);

// The value of the first field `name` whose value is not empty; "" when there is none.
std::string QueryValue(std::string_view target, std::string_view name);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_ACCESS_H_
