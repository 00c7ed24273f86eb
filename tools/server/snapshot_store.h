// Where a server keeps the snapshots of its live streams, so that a client whose connection or
// server is lost resumes its stream on any server that shares the store. Flow: packets -> frontend
// -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_SNAPSHOT_STORE_H_
#define RUNNEL_TOOLS_SERVER_SNAPSHOT_STORE_H_

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

namespace runnel::server {

// The store cannot be used at the moment: full disk, missing folder, no connection. One line that
// names the store.
class SnapshotStoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// There is no room for one more snapshot until others are removed or expire.
class SnapshotStoreFull : public SnapshotStoreError {
 public:
  using SnapshotStoreError::SnapshotStoreError;
};

// Snapshots under tokens. Who knows a token may take over its stream: tokens are secrets.
//
// Thread-safe; different threads do not wait for each other's snapshots. Every method may wait for
// a disk or a network (at most some seconds), so none is for an event loop's thread; all throw
// SnapshotStoreError, after which the store may be used further: it looks anew each time.
class SnapshotStore {
 public:
  virtual ~SnapshotStore() = default;

  // Keeps `snapshot` under `token` (of NewSnapshotToken) for the store's time to live from now on.
  // What was there before is replaced in one go: Get gives the old one or the new one, whole.
  // `predecessor`: the token, "" for none, that the stream was resumed from and has its place
  // under; it stays until it is removed. Throws std::invalid_argument when `token` is none,
  // SnapshotStoreFull when the stream has no place yet and the store has a bound of its own.
  virtual void Put(const std::string& token, const std::string& snapshot,
                   const std::string& predecessor) = 0;
  void Put(const std::string& token, const std::string& snapshot) { Put(token, snapshot, ""); }

  // Nothing when `token` (any bytes, from anybody) is unknown, expired or no token at all.
  virtual std::optional<std::string> Get(const std::string& token) = 0;

  // Forgets `token`, known or not.
  virtual void Remove(const std::string& token) = 0;

  // Removes what has expired, where the store does that itself, if it is time again; to be called
  // every second or so.
  virtual void RemoveExpired() {}

  // Returns when the store can be used, as far as that shows without writing; for readiness.
  virtual void Check() = 0;

  // Of all snapshots, about, where the store counts them, else 0. Waits for nothing.
  virtual int64_t num_bytes() const { return 0; }

  // What and where it is, for people; without secrets.
  virtual std::string Description() const = 0;
};

// 128 bits of the operating system's randomness as 32 lower-case hexadecimal digits. Throws
// std::system_error when there are none.
std::string NewSnapshotToken();

// True when `token` has the form of one.
bool IsSnapshotToken(const std::string& token);

// A folder that the same user finds again after a restart of the server: "snapshots" in
// $STATE_DIRECTORY (systemd's, the first of several), "runnel-snapshots" in $XDG_RUNTIME_DIR, or
// "runnel-snapshots-<user id>" in the folder for temporary files. Throws SnapshotStoreError when
// there is none of these.
std::string DefaultSnapshotFolder();

// `place` is a folder, or redis://HOST[:PORT][/DATABASE], with the password, if there is one, in
// the environment variable RUNNEL_REDIS_PASSWORD. Snapshots are dropped `time_to_live` after they
// were put, at least one second, at most kMaxSnapshotLife. A folder takes no new snapshots beyond
// `max_bytes`; Redis has a bound of its own (maxmemory). Throws std::invalid_argument naming what
// is wrong with either, and SnapshotStoreError when a folder cannot be used. Redis is not contacted
// before it is needed (Check): servers start in any order.
std::unique_ptr<SnapshotStore> MakeSnapshotStore(
    const std::string& place, std::chrono::seconds time_to_live,
    int64_t max_bytes = std::numeric_limits<int64_t>::max());

// A year.
constexpr std::chrono::seconds kMaxSnapshotLife = std::chrono::hours(24 * 365);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SNAPSHOT_STORE_H_
