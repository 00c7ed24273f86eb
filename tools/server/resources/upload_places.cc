#include "tools/server/resources/upload_places.h"

#include <list>
#include <mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace runnel::server {

struct UploadPlaces::State : std::enable_shared_from_this<State> {
  struct Account {
    int64_t num_places = 0;
    int64_t num_waiting = 0;
    int64_t last_turn = 0;
  };
  struct Waiting {
    int64_t id = 0;
    std::string account;
    std::function<void(Place place)> on_place;
  };
  using Queue = std::list<Waiting>;  // in the order in which they came

  State(int64_t places, int64_t shared) : num_places(places), num_shared(shared) {}

  bool MayTake(const std::string& account) const {
    if (num_taken >= num_places) return false;
    const auto found = accounts.find(account);
    return num_taken < num_shared || found == accounts.end() || found->second.num_places == 0;
  }

  // Under the mutex, when the account may take a place.
  Place Give(const std::string& account) {
    ++num_taken;
    Account& taker = accounts[account];
    ++taker.num_places;
    taker.last_turn = ++num_turns;
    return Place(this, [self = shared_from_this(), account](void*) {
      {
        const std::lock_guard<std::mutex> lock(self->mutex);
        --self->num_taken;
        --self->accounts[account].num_places;
        self->ForgetIdle(account);
      }
      self->Serve();
    });
  }

  void ForgetIdle(const std::string& account) {
    const auto found = accounts.find(account);
    if (found->second.num_places == 0 && found->second.num_waiting == 0) accounts.erase(found);
  }

  Queue::iterator Next() {
    auto next = queue.end();
    const auto rank = [this](const Queue::iterator& one) {
      const Account& account = accounts.at(one->account);
      return std::make_tuple(account.num_places, account.last_turn);
    };
    for (auto one = queue.begin(); one != queue.end(); ++one) {
      if (!MayTake(one->account)) continue;
      if (next == queue.end() || rank(one) < rank(next)) next = one;
    }
    return next;
  }

  Waiting Leave(const Queue::iterator& one) {
    Waiting left = std::move(*one);
    queue.erase(one);
    --accounts[left.account].num_waiting;
    return left;
  }

  void EndTurn(int64_t id) {
    Waiting left;  // destroyed outside the lock
    const std::lock_guard<std::mutex> lock(mutex);
    for (auto one = queue.begin(); one != queue.end(); ++one) {
      if (one->id != id) continue;
      left = Leave(one);
      return ForgetIdle(left.account);
    }
  }

  // Gives the free places to those that wait.
  void Serve() {
    for (;;) {
      Waiting served;
      Place place;
      {
        const std::lock_guard<std::mutex> lock(mutex);
        const auto next = Next();
        if (next == queue.end()) return;
        served = Leave(next);
        place = Give(served.account);
      }
      served.on_place(std::move(place));
    }
  }

  const int64_t num_places;
  const int64_t num_shared;
  std::mutex mutex;
  int64_t num_taken = 0;
  int64_t num_turns = 0;
  int64_t num_waited = 0;
  std::unordered_map<std::string, Account> accounts;  // those with places, and those that wait
  Queue queue;
};

UploadPlaces::UploadPlaces(int64_t num_places, int64_t num_shared)
    : state_(std::make_shared<State>(num_places, num_shared)) {}

UploadPlaces::Place UploadPlaces::Take(const std::string& account) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->MayTake(account) ? state_->Give(account) : nullptr;
}

UploadPlaces::Turn UploadPlaces::Wait(const std::string& account,
                                      std::function<void(Place place)> on_place) {
  int64_t id = 0;
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    id = ++state_->num_waited;
    ++state_->accounts[account].num_waiting;
    state_->queue.push_back({id, account, std::move(on_place)});
  }
  Turn turn(state_.get(), [state = state_, id](void*) { state->EndTurn(id); });
  state_->Serve();
  return turn;
}

}  // namespace runnel::server
