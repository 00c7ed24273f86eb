#include "tools/server/snapshot_store.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "tools/server/directory_snapshot_store.h"
#include "tools/server/redis_snapshot_store.h"

namespace runnel::server {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr size_t kTokenBytes = 16;
constexpr char kPasswordVariable[] = "RUNNEL_REDIS_PASSWORD";

}  // namespace

std::string NewSnapshotToken() {
  std::array<unsigned char, kTokenBytes> bytes;
  // Up to 256 bytes come whole or not at all.
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kHexDigits[byte >> 4];
    token += kHexDigits[byte & 15];
  }
  return token;
}

bool IsSnapshotToken(const std::string& token) {
  return token.size() == 2 * kTokenBytes &&
         token.find_first_not_of(kHexDigits) == std::string::npos;
}

std::unique_ptr<SnapshotStore> MakeSnapshotStore(const std::string& place,
                                                 std::chrono::seconds time_to_live) {
  if (time_to_live < std::chrono::seconds(1)) {
    throw std::invalid_argument("snapshots live " + std::to_string(time_to_live.count()) +
                                " s, expected at least 1 s");
  }
  if (place.find("://") == std::string::npos) {
    return std::make_unique<DirectorySnapshotStore>(place, time_to_live);
  }
  RedisAddress address = ParseRedisAddress(place);
  if (const char* password = std::getenv(kPasswordVariable)) address.password = password;
  return std::make_unique<RedisSnapshotStore>(address, time_to_live);
}

}  // namespace runnel::server
