#include "tools/server/grpc/call_admission.h"

#include <charconv>
#include <iterator>

#include "tools/server/grpc/connection_calls.h"

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

uint32_t StreamOf(const grpc::CallbackServerContext& call) {
  // A client may send the metadata, too, but before that of the server.
  const auto [begin, end] = call.client_metadata().equal_range(ConnectionCalls::kStreamKey);
  uint32_t stream = 0;
  if (begin == end) return stream;
  const grpc::string_ref digits = std::prev(end)->second;
  std::from_chars(digits.data(), digits.data() + digits.size(), stream);
  return stream;
}

std::string AddressOf(const grpc::CallbackServerContext& call, const GrpcPeer& peer,
                      const AccessRules& access) {
  return access.ClientAddress(peer.address, Metadata(call, "x-forwarded-for"));
}

}  // namespace runnel::server
