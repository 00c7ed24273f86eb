// The seam to where a server keeps the snapshots of its live streams. A client whose connection or
// server is lost resumes its stream on any server that shares the store.
#ifndef RUNNEL_TOOLS_SERVER_STORE_SNAPSHOT_STORE_H_
#define RUNNEL_TOOLS_SERVER_STORE_SNAPSHOT_STORE_H_

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace runnel::server {

// The store cannot be used at the moment, for example because of a full disk, a missing folder or a
// lost connection. The message is one line that names the store.
class SnapshotStoreError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The store, its disk or its memory has no room for one more snapshot until others are removed or
// expire.
class SnapshotStoreFull : public SnapshotStoreError {
 public:
  using SnapshotStoreError::SnapshotStoreError;
};

// Where a snapshot comes from.
struct SnapshotOrigin {
  std::string account;      // Client::account, whose share of the store the snapshot takes
  std::string predecessor;  // the token that the stream was resumed from, or ""
};

// Maps tokens (snapshot_token.h) to snapshots, which expire after the store's time to live.
//
// Thread-safe; threads with different tokens do not wait for each other. Every method but those
// with a note may wait for a disk or a network, for some seconds at most, so an event loop's thread
// must not call it. Each may throw SnapshotStoreError; the store remains usable and tries anew with
// the next call.
class SnapshotStore {
 public:
  virtual ~SnapshotStore() = default;

  // Stores `snapshot` under `token` and restarts its time to live. Replaces an older snapshot
  // atomically: Get returns the old one or the new one, whole.
  // A stream may use the room of its predecessor in a full store, until the predecessor is removed.
  // Throws std::invalid_argument when `token` is not a token, SnapshotStoreFull when the stream has
  // no room yet and the store's own limit is reached.
  virtual void Put(const std::string& token, const std::string& snapshot,
                   const SnapshotOrigin& origin) = 0;
  void Put(const std::string& token, const std::string& snapshot) { Put(token, snapshot, {}); }

  // Empty when `token` is unknown, expired or not a token. `token` may be any bytes of a stranger.
  virtual std::optional<std::string> Get(const std::string& token) = 0;

  // Removes the snapshot of `token` if there is one.
  virtual void Remove(const std::string& token) = 0;

  // To be called about every second. Removes expired snapshots when that is due, in stores that do
  // not expire them by themselves.
  virtual void RemoveExpired() {}

  // Returns when the store can be used, as far as that shows without writing. For readiness.
  virtual void Check() = 0;

  // The approximate size of all snapshots in bytes, or 0 where the store does not count. Does not
  // wait.
  virtual int64_t num_bytes() const { return 0; }

  // The kind and location of the store, for people; without secrets. Does not wait.
  virtual std::string Description() const = 0;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_STORE_SNAPSHOT_STORE_H_
