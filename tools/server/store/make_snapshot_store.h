// Makes the snapshot store that a server's flags name.
#ifndef RUNNEL_TOOLS_SERVER_STORE_MAKE_SNAPSHOT_STORE_H_
#define RUNNEL_TOOLS_SERVER_STORE_MAKE_SNAPSHOT_STORE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "tools/server/store/snapshot_store.h"

namespace runnel::server {

// The longest time to live of a snapshot: a year.
constexpr std::chrono::seconds kMaxSnapshotLife = std::chrono::hours(24 * 365);

// `location` is a folder or redis://HOST[:PORT][/DATABASE]. The password of Redis, if it has one,
// is read from the environment variable RUNNEL_REDIS_PASSWORD. `time_to_live` is from one second to
// kMaxSnapshotLife. `max_bytes` bounds a folder, and what this store has in Redis, which also has a
// limit of its own (maxmemory). Accounts share the room (fair_snapshot_store.h); `on_drop` is
// called for each snapshot that is dropped for others, on any thread. Redis is not contacted before
// the first call, so that servers can start in any order. Throws std::invalid_argument naming the
// wrong argument, and SnapshotStoreError when a folder cannot be used.
std::unique_ptr<SnapshotStore> MakeSnapshotStore(
    const std::string& location, std::chrono::seconds time_to_live,
    int64_t max_bytes = std::numeric_limits<int64_t>::max(), std::function<void()> on_drop = [] {});

// A folder that the same user finds again after a restart of the server. It is the first of these
// that exists: "snapshots" in $STATE_DIRECTORY (set by systemd; the first folder of the list),
// "runnel-snapshots" in $XDG_RUNTIME_DIR, "runnel-snapshots-<user id>" in the folder for temporary
// files. Throws SnapshotStoreError when there is none.
std::string DefaultSnapshotFolder();

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_STORE_MAKE_SNAPSHOT_STORE_H_
