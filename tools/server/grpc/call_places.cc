#include "tools/server/grpc/call_places.h"

namespace runnel::server {
namespace {

constexpr std::chrono::seconds kFreeAfter{1};

}  // namespace

CallPlaces::CallPlaces(int64_t most, int64_t most_of_account)
    : most_(most), most_of_account_(most_of_account) {}

bool CallPlaces::Take(const std::string& account, Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!become_free_.empty() && become_free_.front().first <= now) {
    Remove(become_free_.front().second);
    become_free_.pop_front();
  }
  if (num_taken_ >= most_) return false;
  const auto found = taken_by_.find(account);
  if (!account.empty() && found != taken_by_.end() && found->second >= most_of_account_) {
    return false;
  }
  ++num_taken_;
  ++taken_by_[account];
  return true;
}

void CallPlaces::Free(const std::string& account) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Remove(account);
}

void CallPlaces::FreeLater(const std::string& account, Time now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  become_free_.emplace_back(now + kFreeAfter, account);
}

void CallPlaces::Remove(const std::string& account) {
  --num_taken_;
  const auto found = taken_by_.find(account);
  if (--found->second == 0) taken_by_.erase(found);
}

}  // namespace runnel::server
