#include "tools/server/grpc/call_admission.h"

#include <utility>

namespace runnel::server {
namespace {

// All values of a key, joined by commas: a proxy may add a line instead of extending one.
std::string Metadata(const grpc::CallbackServerContext& call, const char* key) {
  std::string all;
  const auto [begin, end] = call.client_metadata().equal_range(key);
  for (auto entry = begin; entry != end; ++entry) {
    if (!all.empty()) all += ',';
    all.append(entry->second.data(), entry->second.size());
  }
  return all;
}

}  // namespace

std::optional<ProtocolError> CheckToken(const grpc::CallbackServerContext& call,
                                        const ConnectionServices& shared) {
  if (shared.access->IsAllowed(Metadata(call, "authorization"), /*target=*/"")) return std::nullopt;
  shared.services->metrics->CountRejection(Rejection::kUnauthorized);
  return ProtocolError{ErrorCode::kUnauthorized, "expected a bearer token"};
}

std::string AddressOf(const grpc::CallbackServerContext& call, const AccessRules& access) {
  return access.ClientAddress(PeerAddress(call.peer()), Metadata(call, "x-forwarded-for"));
}

std::string PeerAddress(std::string_view peer) {
  const size_t scheme = peer.find(':');
  const size_t port = peer.rfind(':');
  if (scheme == std::string_view::npos || port <= scheme) return "";
  std::string_view address = peer.substr(scheme + 1, port - scheme - 1);
  for (const auto& [open, close] :
       {std::pair<std::string_view, std::string_view>{"[", "]"}, {"%5B", "%5D"}}) {
    const bool is_enclosed = address.size() > open.size() + close.size() &&
                             address.substr(0, open.size()) == open &&
                             address.substr(address.size() - close.size()) == close;
    if (!is_enclosed) continue;
    address.remove_prefix(open.size());
    address.remove_suffix(close.size());
  }
  return NormalAddress(address);
}

}  // namespace runnel::server
