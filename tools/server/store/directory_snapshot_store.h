// Snapshots as files of one folder: for one server, or for several that share a file system.
#ifndef RUNNEL_TOOLS_SERVER_STORE_DIRECTORY_SNAPSHOT_STORE_H_
#define RUNNEL_TOOLS_SERVER_STORE_DIRECTORY_SNAPSHOT_STORE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "tools/server/store/snapshot_store.h"

namespace runnel::server {

// One file per token, named by it, readable by its owner only. A file is written under another name
// and renamed, so a server that is killed leaves the old snapshot or the new one. Files are not
// forced to the disk: a snapshot survives its server, but not a power failure. A file's
// modification time is the time of its Put. Expired files are never read. They are removed, also
// those of other servers. Steps of the machine's clock after the start are ignored. A file from the
// future, whose server had another clock, gets the present time when it is found.
//
// The store counts the bytes in the folder: its own changes at once, those of other servers when it
// scans the folder. A stream that has a snapshot may always replace it by a larger one, so the
// limit is exceeded by at most what live streams grow. In a full folder, the first snapshot of a
// resumed stream is stored beyond the limit, because its predecessor still exists. Both files are
// then marked (by removing the owner's write permission), and a marked file gets no further
// successor until its predecessor is gone. So there is at most one extra file for each file within
// the limit, however often clients resume.
class DirectorySnapshotStore : public SnapshotStore {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;

  // The system's time when this is called, and from then on that of a clock that never steps.
  static Clock UnsteppedClock();

  // Creates `folder`, for its owner only, when it is missing; its parent must exist. New tokens are
  // refused beyond `max_bytes`. Throws std::invalid_argument when the folder belongs to another
  // user or is open to others (its file names are secrets), SnapshotStoreError when it is not a
  // folder or cannot be used.
  DirectorySnapshotStore(const std::string& folder, std::chrono::seconds time_to_live,
                         int64_t max_bytes, Clock clock = UnsteppedClock());

  using SnapshotStore::Put;
  void Put(const std::string& token, const std::string& snapshot,
           const SnapshotOrigin& origin) override;
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
  // Does what Put does, or returns false when there is no room.
  bool TryPut(const std::string& path, const std::string& snapshot,
              const std::string& predecessor_path);
  // Counts the bytes of a new snapshot if they are within the limit; otherwise returns false.
  bool ReserveBytes(int64_t num_bytes);
  // Removes expired files and counts the others, unless that was done within `interval`. Does not
  // throw.
  void Scan(std::chrono::system_clock::duration interval);

  const std::string folder_;
  const std::chrono::seconds time_to_live_;
  const int64_t max_bytes_;
  const Clock clock_;
  std::atomic<int64_t> num_bytes_{0};
  // Exclusive while the folder is scanned, shared while a file is written or removed: the scan's
  // count and num_bytes_ agree.
  std::shared_mutex folder_mutex_;
  std::mutex mutex_;  // guards last_scan_
  std::chrono::system_clock::time_point last_scan_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_STORE_DIRECTORY_SNAPSHOT_STORE_H_
