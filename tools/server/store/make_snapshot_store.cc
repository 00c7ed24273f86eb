#include "tools/server/store/make_snapshot_store.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/text/require_range.h"
#include "tools/server/store/directory_snapshot_store.h"
#include "tools/server/store/fair_snapshot_store.h"
#include "tools/server/store/redis_snapshot_store.h"

namespace runnel::server {
namespace {

constexpr char kPasswordVariable[] = "RUNNEL_REDIS_PASSWORD";

std::unique_ptr<SnapshotStore> MakeUnshared(const std::string& location,
                                            std::chrono::seconds time_to_live, int64_t max_bytes) {
  if (location.find("://") == std::string::npos) {
    return std::make_unique<DirectorySnapshotStore>(location, time_to_live, max_bytes);
  }
  RedisAddress address = ParseRedisAddress(location);
  if (const char* password = std::getenv(kPasswordVariable)) address.password = password;
  return std::make_unique<RedisSnapshotStore>(address, time_to_live);
}

}  // namespace

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
  // Any user can write there. DirectorySnapshotStore refuses a folder of another user.
  return (temporary / ("runnel-snapshots-" + std::to_string(::geteuid()))).string();
}

std::unique_ptr<SnapshotStore> MakeSnapshotStore(const std::string& location,
                                                 std::chrono::seconds time_to_live,
                                                 int64_t max_bytes, std::function<void()> on_drop) {
  RequireInRange("the time to live of snapshots", time_to_live.count(), 1, kMaxSnapshotLife.count(),
                 "s");
  return std::make_unique<FairSnapshotStore>(MakeUnshared(location, time_to_live, max_bytes),
                                             time_to_live, max_bytes, std::move(on_drop));
}

}  // namespace runnel::server
