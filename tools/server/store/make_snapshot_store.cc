#include "tools/server/snapshot_store.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
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

std::string DefaultSnapshotFolder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string state = variable("STATE_DIRECTORY");
  if (!state.empty()) return state.substr(0, state.find(':')) + "/snapshots";
  const std::string run = variable("XDG_RUNTIME_DIR");
  if (!run.empty()) return run + "/runnel-snapshots";
  std::error_code error;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  if (error) throw SnapshotStoreError("no folder for temporary files: " + error.message());
  // Anybody may write there: DirectorySnapshotStore looks whose it is.
  return (temporary / ("runnel-snapshots-" + std::to_string(::geteuid()))).string();
}

std::unique_ptr<SnapshotStore> MakeSnapshotStore(const std::string& place,
                                                 std::chrono::seconds time_to_live,
                                                 int64_t max_bytes) {
  if (time_to_live < std::chrono::seconds(1) || time_to_live > kMaxSnapshotLife) {
    throw std::invalid_argument("snapshots live " + std::to_string(time_to_live.count()) +
                                " s, expected 1 to " + std::to_string(kMaxSnapshotLife.count()) +
                                " s");
  }
  if (place.find("://") == std::string::npos) {
    return std::make_unique<DirectorySnapshotStore>(place, time_to_live, max_bytes);
  }
  RedisAddress address = ParseRedisAddress(place);
  if (const char* password = std::getenv(kPasswordVariable)) address.password = password;
  return std::make_unique<RedisSnapshotStore>(address, time_to_live);
}

}  // namespace runnel::server
