#include "tools/server/store/fair_snapshot_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace runnel::server {

class FairSnapshotStore::InUse {
 public:
  // Waits until no other call uses `token`.
  InUse(FairSnapshotStore* store, std::string token) : InUse(store, std::move(token), kTaken) {
    std::unique_lock<std::mutex> lock(store_->mutex_);
    store_->not_in_use_.wait(lock, [this] { return store_->in_use_.insert(token_).second; });
  }
  // For a token that is marked already.
  struct Taken {};
  static constexpr Taken kTaken{};
  InUse(FairSnapshotStore* store, std::string token, Taken /*taken*/)
      : store_(store), token_(std::move(token)) {}
  ~InUse() {
    {
      const std::lock_guard<std::mutex> lock(store_->mutex_);
      store_->in_use_.erase(token_);
    }
    store_->not_in_use_.notify_all();
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  FairSnapshotStore* const store_;
  const std::string token_;
};

FairSnapshotStore::FairSnapshotStore(std::unique_ptr<SnapshotStore> store,
                                     std::chrono::seconds time_to_live, int64_t max_bytes,
                                     std::function<void()> on_drop, Clock clock)
    : store_(std::move(store)),
      time_to_live_(time_to_live),
      max_bytes_(max_bytes),
      on_drop_(std::move(on_drop)),
      clock_(std::move(clock)) {}

void FairSnapshotStore::Put(const std::string& token, const std::string& snapshot,
                            const SnapshotOrigin& origin) {
  const auto num_bytes = std::max<int64_t>(1, static_cast<int64_t>(snapshot.size()));
  if (num_bytes > max_bytes_) {
    throw SnapshotStoreFull(Description() + ": full, a snapshot has " + std::to_string(num_bytes) +
                            " bytes of " + std::to_string(max_bytes_));
  }
  const InUse in_use(this, token);
  MakeRoom(token, num_bytes, origin);
  // A new stream uses the room of its predecessor only when nothing can be dropped.
  SnapshotOrigin first = origin;
  if (!Has(token)) first.predecessor.clear();
  if (!TryPut(token, snapshot, first, origin)) store_->Put(token, snapshot, origin);
  Add(token, num_bytes, origin);
}

bool FairSnapshotStore::TryPut(const std::string& token, const std::string& snapshot,
                               const SnapshotOrigin& first, const SnapshotOrigin& origin) {
  const auto num_bytes = static_cast<int64_t>(snapshot.size());
  for (int64_t num_dropped = 0; num_dropped <= 2 * num_bytes;) {
    try {
      store_->Put(token, snapshot, first);
      return true;
    } catch (const SnapshotStoreFull&) {
      const int64_t dropped = DropOne(token, num_bytes, origin);
      if (dropped == 0) return false;
      num_dropped += dropped;
    }
  }
  return false;
}

void FairSnapshotStore::Remove(const std::string& token) {
  const InUse in_use(this, token);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = by_token_.find(token);
    if (found != by_token_.end()) Forget(found->second);
  }
  store_->Remove(token);
}

void FairSnapshotStore::MakeRoom(const std::string& token, int64_t num_bytes,
                                 const SnapshotOrigin& origin) {
  while (!Fits(token, num_bytes)) {
    if (DropOne(token, num_bytes, origin) == 0) return;
  }
}

int64_t FairSnapshotStore::DropOne(const std::string& token, int64_t num_bytes,
                                   const SnapshotOrigin& origin) {
  const std::optional<Entry> dropped = TakeOldest(token, num_bytes, origin);
  if (!dropped.has_value()) return 0;
  const InUse in_use(this, dropped->token, InUse::kTaken);
  store_->Remove(dropped->token);
  on_drop_();
  return dropped->num_bytes;
}

std::optional<FairSnapshotStore::Entry> FairSnapshotStore::TakeOldest(
    const std::string& token, int64_t num_bytes, const SnapshotOrigin& origin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ForgetExpired();
  std::string account = origin.account;
  const auto own = bytes_by_account_.find(account);
  int64_t most = (own == bytes_by_account_.end() ? 0 : own->second) - BytesOf(token) + num_bytes;
  for (const auto& [other, other_bytes] : bytes_by_account_) {
    if (other == origin.account || other_bytes <= most) continue;
    account = other;
    most = other_bytes;
  }
  const auto oldest = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.account == account && entry.token != origin.predecessor &&
           in_use_.count(entry.token) == 0;
  });
  if (oldest == entries_.end()) return std::nullopt;
  Entry taken = *oldest;
  Forget(oldest);
  in_use_.insert(taken.token);
  return taken;
}

bool FairSnapshotStore::Fits(const std::string& token, int64_t num_bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ForgetExpired();
  return num_bytes <= max_bytes_ - (num_bytes_ - BytesOf(token));
}

void FairSnapshotStore::Add(const std::string& token, int64_t num_bytes,
                            const SnapshotOrigin& origin) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto replaced = by_token_.find(token);
  if (replaced != by_token_.end()) Forget(replaced->second);
  // The stream may need both.
  const auto predecessor = by_token_.find(origin.predecessor);
  if (predecessor != by_token_.end()) {
    entries_.splice(entries_.end(), entries_, predecessor->second);
  }
  entries_.push_back({token, origin.account, num_bytes, clock_() + time_to_live_});
  by_token_[token] = std::prev(entries_.end());
  bytes_by_account_[origin.account] += num_bytes;
  num_bytes_ += num_bytes;
}

void FairSnapshotStore::ForgetExpired() {
  const auto now = clock_();
  while (!entries_.empty() && entries_.front().expiry <= now) Forget(entries_.begin());
}

void FairSnapshotStore::Forget(Entries::iterator entry) {
  num_bytes_ -= entry->num_bytes;
  const auto account = bytes_by_account_.find(entry->account);
  account->second -= entry->num_bytes;
  if (account->second == 0) bytes_by_account_.erase(account);
  by_token_.erase(entry->token);
  entries_.erase(entry);
}

bool FairSnapshotStore::Has(const std::string& token) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return by_token_.count(token) > 0;
}

int64_t FairSnapshotStore::BytesOf(const std::string& token) const {
  const auto found = by_token_.find(token);
  return found == by_token_.end() ? 0 : found->second->num_bytes;
}

}  // namespace runnel::server
