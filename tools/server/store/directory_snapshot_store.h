// Snapshots as files of one folder: for one server, or for several that share a file system.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_DIRECTORY_SNAPSHOT_STORE_H_
#define RUNNEL_TOOLS_SERVER_DIRECTORY_SNAPSHOT_STORE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "tools/server/snapshot_store.h"

namespace runnel::server {

// One file per token, named by it, for its owner's eyes only. A file is written under another name
// and renamed, so a server killed at any moment leaves the old snapshot or the new one. It is not
// forced to the disk: a snapshot outlives its server, not a power failure. Its time of modification
// is when it was put; expired files are not read and are removed, also those of other servers.
//
// The folder's bytes are counted: what this server does at once, what others do in it every now and
// then. Streams that have a snapshot replace it whatever the size, so that the bound holds but for
// what live streams grow. In a full folder, a resumed stream's first snapshot goes beyond the
// bound, too, in the place of its predecessor, which is still there: both files are marked (not
// writable, which nobody minds) and have no further successor until the predecessor is gone. So
// there is at most one more file for each within the bound, however often clients resume.
class DirectorySnapshotStore : public SnapshotStore {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;

  // `max_bytes`: new tokens are refused beyond it. `folder` is created, for its owner only, when it
  // is missing and its parent is there. Throws std::invalid_argument when it is another user's or
  // open to others (its file names are tokens), SnapshotStoreError when it is no folder or cannot
  // be used.
  DirectorySnapshotStore(const std::string& folder, std::chrono::seconds time_to_live,
                         int64_t max_bytes, Clock clock = std::chrono::system_clock::now);

  using SnapshotStore::Put;
  void Put(const std::string& token, const std::string& snapshot,
           const std::string& predecessor) override;
  std::optional<std::string> Get(const std::string& token) override;
  void Remove(const std::string& token) override;
  void RemoveExpired() override;
  void Check() override;
  int64_t num_bytes() const override { return std::max<int64_t>(0, num_bytes_); }
  std::string Description() const override;

 private:
  [[noreturn]] void Fail(const std::string& what, int error) const;
  std::string PathOf(const std::string& token) const;
  void WriteFile(const std::string& path, const std::string& content, bool is_marked) const;
  // Put, unless there is no room: false.
  bool TryPut(const std::string& path, const std::string& snapshot,
              const std::string& predecessor_path);
  // Adds the bytes of a new snapshot if they are within the bound.
  bool TakeRoom(int64_t num_bytes);
  // Removes expired files and counts the others, if that was not done for `interval`; never throws.
  void LookThrough(std::chrono::system_clock::duration interval);

  const std::string folder_;
  const std::chrono::seconds time_to_live_;
  const int64_t max_bytes_;
  const Clock clock_;
  std::atomic<int64_t> num_bytes_{0};
  // Held alone while the folder is looked through, and shared while files come and go: what is
  // found and what is counted are the same.
  std::shared_mutex folder_mutex_;
  std::mutex mutex_;  // of last_look_
  std::chrono::system_clock::time_point last_look_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIRECTORY_SNAPSHOT_STORE_H_
