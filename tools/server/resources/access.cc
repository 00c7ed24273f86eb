#include "tools/server/resources/access.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tools/server/resources/rated_log.h"

namespace runnel::server {
namespace {

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// Compares digests, so that the time does not depend on how much of a guess is right.
bool IsSame(std::string_view a, std::string_view b) {
  const auto digest = [](std::string_view text) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> value{};
    ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), value.data());
    return value;
  };
  const auto of_a = digest(a);
  const auto of_b = digest(b);
  return ::CRYPTO_memcmp(of_a.data(), of_b.data(), of_a.size()) == 0;
}

// The token in "<scheme> <token>", where `scheme` has lower case; "" for another scheme.
std::string TokenOfScheme(std::string_view authorization, std::string_view scheme) {
  bool is_same = authorization.size() > scheme.size() && authorization[scheme.size()] == ' ';
  for (size_t i = 0; is_same && i < scheme.size(); ++i) {
    is_same = std::tolower(static_cast<unsigned char>(authorization[i])) == scheme[i];
  }
  return is_same ? std::string(Trim(authorization.substr(scheme.size()))) : "";
}

bool IsPort(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The address of an entry of X-Forwarded-For, which some proxies write with brackets or a port:
// "10.0.0.1:80", "[2001:db8::1]", "[2001:db8::1]:80". As NormalAddress.
std::string ForwardedAddress(std::string_view entry) {
  const size_t colon = entry.rfind(':');
  if (!entry.empty() && entry.front() == '[') {
    const bool has_port = colon != std::string_view::npos && IsPort(entry.substr(colon + 1));
    const std::string_view host = has_port ? entry.substr(0, colon) : entry;
    return host.back() == ']' ? NormalAddress(host.substr(1, host.size() - 2)) : "";
  }
  const bool has_port = colon != std::string_view::npos && entry.find(':') == colon &&
                        IsPort(entry.substr(colon + 1));
  return NormalAddress(has_port ? entry.substr(0, colon) : entry);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

AccessRules::AccessRules(std::string token, const std::string& trusted_proxies, TokenPlaces places)
    : token_(std::move(token)), places_(std::move(places)) {
  for (const std::string& proxy : SplitAtCommas(trusted_proxies)) {
    const std::string address = NormalAddress(proxy);
    if (address.empty()) {
      throw std::invalid_argument("--trusted_proxy has '" + proxy + "', expected an IP address");
    }
    trusted_proxies_.insert(address);
  }
}

bool AccessRules::IsAllowed(std::string_view authorization, std::string_view target,
                            const std::vector<std::string>& subprotocols) const {
  const auto expected = token_.Get();
  if (expected->empty()) return true;
  std::string token = AfterScheme(authorization);
  if (token.empty()) token = TokenAmong(subprotocols);
  if (token.empty()) token = QueryValue(target, "token");
  return IsSame(*expected, token);
}

std::string AccessRules::AfterScheme(std::string_view authorization) const {
  std::string token = TokenOfScheme(authorization, "bearer");
  for (const std::string& scheme : places_.schemes) {
    if (token.empty()) token = TokenOfScheme(authorization, scheme);
  }
  return token;
}

std::string AccessRules::TokenAmong(const std::vector<std::string>& subprotocols) const {
  const std::vector<std::string>& names = places_.names;
  for (size_t i = 0; i < subprotocols.size(); ++i) {
    const std::string& offered = subprotocols[i];
    if (std::count(names.begin(), names.end(), offered) > 0 && i + 1 < subprotocols.size()) {
      return subprotocols[i + 1];
    }
    for (const std::string& prefix : places_.prefixes) {
      if (offered.compare(0, prefix.size(), prefix) == 0) return offered.substr(prefix.size());
    }
  }
  return "";
}

bool AccessRules::IsTrusted(const std::string& peer) const {
  return trusted_proxies_.count(NormalAddress(peer)) > 0;
}

std::string AccessRules::ClientAddress(const std::string& peer,
                                       std::string_view forwarded_for) const {
  if (!IsTrusted(peer)) return peer;
  const std::vector<std::string> chain = SplitAtCommas(forwarded_for);
  for (auto address = chain.rbegin(); address != chain.rend(); ++address) {
    std::string normal = ForwardedAddress(*address);
    if (normal.empty()) {
      LogRated(LogLevel::kWarning, "X-Forwarded-For",
               "'" + *address + "' is not an IP address; its client counts as the proxy " + peer);
      break;
    }
    if (trusted_proxies_.count(normal) == 0) return normal;
  }
  return peer;
}

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view part = Trim(text.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string NormalAddress(std::string_view text) {
  const std::string address(text.substr(0, text.find('%')));
  std::array<char, INET6_ADDRSTRLEN> normal{};
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET6, address.c_str(), &v6) == 1) {
    if (IN6_IS_ADDR_V4MAPPED(&v6) == 0) {
      return ::inet_ntop(AF_INET6, &v6, normal.data(), normal.size());
    }
    std::memcpy(&v4, &v6.s6_addr[sizeof(v6) - sizeof(v4)], sizeof(v4));
  } else if (::inet_pton(AF_INET, address.c_str(), &v4) != 1) {
    return "";
  }
  return ::inet_ntop(AF_INET, &v4, normal.data(), normal.size());
}

std::string AccountOf(const std::string& address) {
  std::string normal = NormalAddress(address);
  in6_addr v6{};
  if (::inet_pton(AF_INET6, normal.c_str(), &v6) != 1) return normal.empty() ? address : normal;
  if (IN6_IS_ADDR_LOOPBACK(&v6)) return normal;
  std::memset(&v6.s6_addr[8], 0, 8);
  std::array<char, INET6_ADDRSTRLEN> network{};
  return ::inet_ntop(AF_INET6, &v6, network.data(), network.size()) + std::string("/64");
}

std::string PercentDecoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
    if (low >= 0) {
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

std::vector<std::pair<std::string, std::string>> QueryFields(std::string_view target) {
  std::vector<std::pair<std::string, std::string>> fields;
  const size_t question = target.find('?');
  if (question == std::string_view::npos) return fields;
  std::string_view query = target.substr(question + 1);
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    const size_t equals = std::min(pair.find('='), pair.size());
    if (!pair.empty()) {
      fields.emplace_back(PercentDecoded(pair.substr(0, equals)),
                          PercentDecoded(pair.substr(std::min(equals + 1, pair.size()))));
    }
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return fields;
}

std::string QueryValue(std::string_view target, std::string_view name) {
  for (const auto& [field, value] : QueryFields(target)) {
    if (field == name && !value.empty()) return value;
  }
  return "";
}

}  // namespace runnel::server
