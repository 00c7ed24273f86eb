#include "tools/server/resources/input_budget.h"

#include <utility>

namespace runnel::server {

InputBudget::Share::Share(InputBudget* budget, std::string account)
    : budget_(budget), account_(std::move(account)) {}

InputBudget::Share::Share(Share&& other) noexcept
    : budget_(other.budget_),
      account_(std::move(other.account_)),
      bytes_(std::exchange(other.bytes_, 0)) {}

InputBudget::Share& InputBudget::Share::operator=(Share&& other) noexcept {
  Force(0);
  budget_ = other.budget_;
  account_ = std::move(other.account_);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

bool InputBudget::Share::Resize(size_t bytes) {
  if (budget_ == nullptr || bytes == bytes_) return true;
  const std::lock_guard<std::mutex> lock(budget_->mutex_);
  if (bytes > bytes_ && !budget_->MayHold(account_, bytes - bytes_)) return false;
  budget_->Change(account_, std::exchange(bytes_, bytes), bytes);
  return true;
}

void InputBudget::Share::Force(size_t bytes) {
  if (budget_ == nullptr || bytes == bytes_) return;
  const std::lock_guard<std::mutex> lock(budget_->mutex_);
  budget_->Change(account_, std::exchange(bytes_, bytes), bytes);
}

size_t InputBudget::num_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return num_bytes_;
}

bool InputBudget::MayHold(const std::string& account, size_t more) const {
  const auto found = by_account_.find(account);
  const size_t held = (found == by_account_.end() ? 0 : found->second) + more;
  const size_t in_all = num_bytes_ + more;
  return in_all <= max_bytes_ && held <= (max_bytes_ - in_all) / 3;
}

void InputBudget::Change(const std::string& account, size_t before, size_t after) {
  auto held = by_account_.find(account);  // giving back allocates nothing
  if (held == by_account_.end()) held = by_account_.emplace(account, 0).first;
  held->second += after - before;
  num_bytes_ += after - before;
  if (held->second == 0) by_account_.erase(held);
}

}  // namespace runnel::server
