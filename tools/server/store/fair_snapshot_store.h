// A snapshot store whose room is shared between the accounts of clients.
#ifndef RUNNEL_TOOLS_SERVER_STORE_FAIR_SNAPSHOT_STORE_H_
#define RUNNEL_TOOLS_SERVER_STORE_FAIR_SNAPSHOT_STORE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "tools/server/store/snapshot_store.h"

namespace runnel::server {

// Passes calls on to another store. When that is full, the account with the most bytes loses its
// snapshot that was stored longest ago, so that a client cannot keep others out. Snapshots of
// streams that run are young; the oldest are those of clients that have vanished.
//
// The accounts are known of snapshots that this object has stored within the time to live. Other
// servers' snapshots, and those from before a restart, belong to no account and are never dropped.
class FairSnapshotStore : public SnapshotStore {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  // `max_bytes`: bound on the snapshots stored by this object, beside the store's own limits.
  // `on_drop` is called for each snapshot that is dropped, by the thread that drops it.
  FairSnapshotStore(std::unique_ptr<SnapshotStore> store, std::chrono::seconds time_to_live,
                    int64_t max_bytes, std::function<void()> on_drop,
                    Clock clock = std::chrono::steady_clock::now);

  using SnapshotStore::Put;
  void Put(const std::string& token, const std::string& snapshot,
           const SnapshotOrigin& origin) override;
  std::optional<std::string> Get(const std::string& token) override { return store_->Get(token); }
  void Remove(const std::string& token) override;
  void RemoveExpired() override { store_->RemoveExpired(); }
  void Check() override { store_->Check(); }
  int64_t num_bytes() const override { return store_->num_bytes(); }
  std::string Description() const override { return store_->Description(); }

 private:
  struct Entry {
    std::string token;
    std::string account;
    int64_t num_bytes;
    std::chrono::steady_clock::time_point expiry;
  };
  using Entries = std::list<Entry>;

  // Drops what `origin` may drop until the snapshot fits into max_bytes_.
  void MakeRoom(const std::string& token, int64_t num_bytes, const SnapshotOrigin& origin);
  // Drops a snapshot for that of `token` and returns its size, or returns 0 when no account has
  // more than that of `origin` would have, or nothing that can be dropped.
  int64_t DropOne(const std::string& token, int64_t num_bytes, const SnapshotOrigin& origin);
  // The same for the record only. Returns what is to be removed from the store.
  // Its token is in use then.
  std::optional<Entry> TakeOldest(const std::string& token, int64_t num_bytes,
                                  const SnapshotOrigin& origin);
  // Stores the snapshot, if need be after dropping others of at most about twice its size. More is
  // not dropped for it: others may use the room.
  bool TryPut(const std::string& token, const std::string& snapshot, const SnapshotOrigin& first,
              const SnapshotOrigin& origin);
  bool Has(const std::string& token);
  bool Fits(const std::string& token, int64_t num_bytes);
  void Add(const std::string& token, int64_t num_bytes, const SnapshotOrigin& origin);

  // While a token is in use by a call of the store, other calls for it wait and its snapshot is not
  // dropped.
  class InUse;

  // With mutex_ locked.
  void ForgetExpired();
  void Forget(Entries::iterator entry);
  int64_t BytesOf(const std::string& token) const;

  const std::unique_ptr<SnapshotStore> store_;
  const std::chrono::seconds time_to_live_;
  const int64_t max_bytes_;
  const std::function<void()> on_drop_;
  const Clock clock_;
  std::mutex mutex_;  // of the members below; not held during calls of the store
  // The oldest first. A predecessor that was moved back may be counted for twice its time to live.
  Entries entries_;
  std::unordered_map<std::string, Entries::iterator> by_token_;
  std::unordered_map<std::string, int64_t> bytes_by_account_;
  int64_t num_bytes_ = 0;  // of all entries
  std::unordered_set<std::string> in_use_;
  std::condition_variable not_in_use_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_STORE_FAIR_SNAPSHOT_STORE_H_
