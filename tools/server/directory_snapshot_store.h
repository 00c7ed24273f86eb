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
#include <string>

#include "tools/server/snapshot_store.h"

namespace runnel::server {

// One file per token, named by it, for its owner's eyes only. A file is written under another name
// and renamed, so a server killed at any moment leaves the old snapshot or the new one. It is not
// forced to the disk: a snapshot outlives its server, not a power failure. Its time of modification
// is when it was put; expired files are not read and are removed, also those of other servers, by
// some later Put.
//
// The folder's bytes are counted: what this server does at once, what others do in it every now and
// then. Streams that have a snapshot replace it whatever the size, so that the bound holds but for
// what live streams grow.
class DirectorySnapshotStore : public SnapshotStore {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;

  // `max_bytes`: new tokens are refused beyond it. `folder` is created, for its owner only, when it
  // is missing and its parent is there. Throws std::invalid_argument when it is another user's or
  // open to others (its file names are tokens), SnapshotStoreError when it is no folder or cannot
  // be used.
  DirectorySnapshotStore(const std::string& folder, std::chrono::seconds time_to_live,
                         int64_t max_bytes, Clock clock = std::chrono::system_clock::now);

  void Put(const std::string& token, const std::string& snapshot) override;
  std::optional<std::string> Get(const std::string& token) override;
  void Remove(const std::string& token) override;
  void Check() override;
  int64_t num_bytes() const override { return std::max<int64_t>(0, num_bytes_); }
  std::string Description() const override;

 private:
  [[noreturn]] void Fail(const std::string& what, int error) const;
  std::string PathOf(const std::string& token) const;
  void WriteFile(const std::string& path, const std::string& content) const;
  // Adds the bytes of a snapshot that is about to be written; `replaces`: one of the same token.
  void TakeRoom(int64_t num_bytes, bool replaces);
  // Removes expired files and counts the others, if that was not done for `interval`; never throws.
  void LookThrough(std::chrono::system_clock::duration interval);
  void RemoveExpired();

  const std::string folder_;
  const std::chrono::seconds time_to_live_;
  const int64_t max_bytes_;
  const Clock clock_;
  std::atomic<int64_t> num_bytes_{0};
  std::mutex mutex_;
  std::chrono::system_clock::time_point last_look_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIRECTORY_SNAPSHOT_STORE_H_
