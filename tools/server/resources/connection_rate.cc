#include "tools/server/resources/connection_rate.h"

#include <algorithm>
#include <iterator>

#include "tools/cli/seconds.h"

namespace runnel::server {
namespace {

constexpr size_t kFewAccounts = 64;

}  // namespace

ConnectionRate::ConnectionRate(double per_second, int64_t most_at_once)
    : interval_(per_second > 0 ? Seconds(1 / per_second) : Duration::zero()),
      at_once_(interval_ * most_at_once),
      most_accounts_(kFewAccounts) {}

ConnectionRate::Time ConnectionRate::Next(const std::string& account, Time now) {
  if (interval_ == Duration::zero()) return now;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (busy_until_.size() > most_accounts_) ForgetIdle(now);
  Time& busy_until = busy_until_.try_emplace(account, now).first->second;
  busy_until = std::max(busy_until, now) + interval_;
  return std::max(now, busy_until - at_once_);
}

// Takes time in the number of accounts, and so is called when it has doubled.
void ConnectionRate::ForgetIdle(Time now) {
  for (auto it = busy_until_.begin(); it != busy_until_.end();) {
    it = it->second <= now ? busy_until_.erase(it) : std::next(it);
  }
  most_accounts_ = 2 * busy_until_.size() + kFewAccounts;
}

}  // namespace runnel::server
