// Who a client is: its bearer token, and its address behind a proxy.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_ACCESS_H_
#define RUNNEL_TOOLS_SERVER_ACCESS_H_

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace runnel::server {

// Const after construction: every method from any thread.
class AccessRules {
 public:
  // `token`: what clients must know; empty: nothing. `trusted_proxies`: addresses, separated by
  // commas and in any notation, whose X-Forwarded-For is believed. Throws std::invalid_argument
  // when one is no IP address.
  AccessRules(std::string token, const std::string& trusted_proxies);

  // `authorization`: the header's value; `target`: of the request, perhaps with ?token=. Takes the
  // same time for every wrong token of one length.
  bool IsAllowed(std::string_view authorization, std::string_view target) const;

  // Whether the peer is a proxy, whose connections are those of others.
  bool IsTrusted(const std::string& peer) const;

  // The client's address: `peer`, or what a trusted proxy says: the last entry of X-Forwarded-For
  // that is no trusted proxy itself.
  std::string ClientAddress(const std::string& peer, std::string_view forwarded_for) const;

 private:
  const std::string token_;
  std::set<std::string> trusted_proxies_;  // as NormalAddress
};

// An IP address in the one notation in which addresses are compared: IPv6 in its shortest form,
// without a scope, IPv4 within IPv6 as IPv4. "" for what is no address.
std::string NormalAddress(std::string_view text);

// The fields of the query of a request's target, (name, value), in order, percent-decoded. A field
// without "=" has the value "".
std::vector<std::pair<std::string, std::string>> QueryFields(std::string_view target);

// The value of the first field `name` of the query that has one; "" without.
std::string QueryValue(std::string_view target, std::string_view name);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_ACCESS_H_
