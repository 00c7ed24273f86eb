#include "tools/server/session/stored_session.h"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace runnel::server {
namespace {

constexpr char kMagic[] = "runnel-session 1 ";

}  // namespace

std::string Pack(const StoredSession& session) {
  return kMagic + std::to_string(session.nbest) + "\n" + session.stream;
}

std::optional<StoredSession> Unpack(const std::string& bytes) {
  const std::string magic = kMagic;
  if (bytes.compare(0, magic.size(), magic) != 0) return std::nullopt;
  const size_t end = bytes.find('\n', magic.size());
  if (end == std::string::npos) return std::nullopt;
  StoredSession session;
  const auto [parsed, error] =
      std::from_chars(bytes.data() + magic.size(), bytes.data() + end, session.nbest);
  if (error != std::errc() || parsed != bytes.data() + end || session.nbest < 1) {
    return std::nullopt;
  }
  session.stream = bytes.substr(end + 1);
  return session;
}

}  // namespace runnel::server
