#include "tools/server/resources/shares.h"

#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace runnel::server {

struct Shares::State {
  struct Account {
    int64_t amount = 0;
    std::set<Held*> shares;
  };

  explicit State(int64_t given) : capacity(given) {}

  // Makes room for `needed` more of the taker, or changes nothing. Adds what the holders of the
  // shares are to be told.
  bool MakeRoom(const Held* taker, int64_t needed, Time now,
                std::vector<std::function<void()>>* given_up);
  Held* Weakest(const std::string& account, int64_t needed, const Held* except, Time now) const;
  void Add(Held* share, int64_t added);
  void Remove(Held* share);
  int64_t AmountOf(const std::string& account) const {
    const auto found = accounts.find(account);
    return found == accounts.end() ? 0 : found->second.amount;
  }

  const int64_t capacity;
  std::mutex mutex;
  int64_t amount = 0;
  std::unordered_map<std::string, Account> accounts;  // those with shares
};

// Its members are guarded by the mutex of the state.
class Shares::Held : public Shares::Share {
 public:
  Held(std::shared_ptr<State> state, std::string account, Time now)
      : state_(std::move(state)), account_(std::move(account)), used_at_(now) {}

  ~Held() override {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->Remove(this);
  }

  void Use(Time now) override {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    used_at_ = now;
    was_used_ = true;
  }

  void Offer(Duration patience, std::function<void()> give_up) override {
    {
      const std::lock_guard<std::mutex> lock(state_->mutex);
      if (!is_given_up_) {
        patience_ = patience;
        give_up_.swap(give_up);  // the earlier one is destroyed outside the lock
        return;
      }
    }
    if (give_up != nullptr) give_up();
  }

  bool Grow(int64_t amount, Time now) override {
    std::vector<std::function<void()>> given_up;
    bool has_room = false;
    {
      const std::lock_guard<std::mutex> lock(state_->mutex);
      has_room = !is_given_up_ && state_->MakeRoom(this, amount, now, &given_up);
      if (has_room) state_->Add(this, amount);
    }
    for (const auto& give_up : given_up) give_up();
    return has_room;
  }

  // `to_small`: to an account that would then hold at most half as much.
  bool IsOffered(bool to_small, Time now) const {
    if (give_up_ == nullptr) return false;
    if (to_small && !was_used_) return true;
    return now - used_at_ >= (to_small ? patience_ / 3 : patience_);
  }

 private:
  friend struct State;

  const std::shared_ptr<State> state_;
  const std::string account_;
  Time used_at_;  // or taken
  bool was_used_ = false;
  Duration patience_{};
  std::function<void()> give_up_;
  int64_t amount_ = 0;
  bool is_given_up_ = false;
};

void Shares::State::Add(Held* share, int64_t added) {
  Account& account = accounts[share->account_];
  account.shares.insert(share);
  account.amount += added;
  share->amount_ += added;
  amount += added;
}

void Shares::State::Remove(Held* share) {
  const auto found = accounts.find(share->account_);
  if (found == accounts.end() || found->second.shares.erase(share) == 0) return;
  found->second.amount -= share->amount_;
  amount -= share->amount_;
  share->amount_ = 0;
  if (found->second.shares.empty()) accounts.erase(found);
}

Shares::Held* Shares::State::Weakest(const std::string& account, int64_t needed, const Held* except,
                                     Time now) const {
  const int64_t own = AmountOf(account) + needed;
  Held* weakest = nullptr;
  int64_t most = 0;
  for (const auto& [name, holder] : accounts) {
    if (holder.amount < most || (name != account && holder.amount < own)) continue;
    const bool to_small = name != account && 2 * own <= holder.amount;
    for (Held* share : holder.shares) {
      if (share == except || !share->IsOffered(to_small, now)) continue;
      const bool is_weaker =
          weakest == nullptr || holder.amount > most || share->used_at_ < weakest->used_at_;
      if (!is_weaker) continue;
      weakest = share;
      most = holder.amount;
    }
  }
  return weakest;
}

bool Shares::State::MakeRoom(const Held* taker, int64_t needed, Time now,
                             std::vector<std::function<void()>>* given_up) {
  std::vector<std::pair<Held*, int64_t>> taken;
  while (amount + needed > capacity) {
    Held* const weakest = Weakest(taker->account_, needed, taker, now);
    if (weakest == nullptr) break;
    taken.emplace_back(weakest, weakest->amount_);
    Remove(weakest);
  }
  const bool has_room = amount + needed <= capacity;
  for (const auto& [share, held] : taken) {
    if (has_room) {
      share->is_given_up_ = true;
      given_up->push_back(std::exchange(share->give_up_, nullptr));
    } else {
      Add(share, held);
    }
  }
  return has_room;
}

Shares::Shares(int64_t capacity) : state_(std::make_shared<State>(capacity)) {}

std::shared_ptr<Shares::Share> Shares::Take(const std::string& account, int64_t amount, Time now) {
  const auto share = std::make_shared<Held>(state_, account, now);
  std::vector<std::function<void()>> given_up;
  bool has_room = false;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    has_room = state_->MakeRoom(share.get(), amount, now, &given_up);
    if (has_room) state_->Add(share.get(), amount);
  }
  for (const auto& give_up : given_up) give_up();
  return has_room ? share : nullptr;
}

int64_t Shares::amount() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->amount;
}

int64_t Shares::AmountOf(const std::string& account) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->AmountOf(account);
}

bool Shares::HasRoom(Time now) const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->amount < state_->capacity || state_->Weakest("", 1, nullptr, now) != nullptr;
}

}  // namespace runnel::server
