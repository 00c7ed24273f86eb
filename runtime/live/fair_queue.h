// A queue whose turns go to the client that has used least, so that one that asks much delays
// itself.
#ifndef RUNNEL_RUNTIME_LIVE_FAIR_QUEUE_H_
#define RUNNEL_RUNTIME_LIVE_FAIR_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace runnel {

// Start-time fair queueing (Goyal, Vin and Cheng 1996). A client is any name; "" is one, too. The
// items of a client are taken in order. Clients that always have items get equal sums of costs. A
// client that had none for a while gets no more than others for it. Push and Pop take time in the
// logarithm of the number of clients. When no item is left, all clients are equal again. Not
// thread-safe.
template <class Item>
class FairQueue {
 public:
  // `cost`: what the item is expected to take, in any unit, above 0. Charge corrects it later.
  // After std::bad_alloc nothing is pushed.
  void Push(const std::string& client, Item item, double cost) {
    Client& pushed = clients_[client];
    pushed.items.push_back({std::move(item), cost});
    if (pushed.items.size() == 1) {
      pushed.used = std::max(pushed.used, now_);
      pushed.turn = ++num_turns_;
      try {
        turns_.insert({pushed.used, pushed.turn, client});
      } catch (...) {
        pushed.items.pop_back();
        throw;
      }
    }
    ++size_;
  }

  // The next item, and its client if `client` is not null. The queue is not empty. Takes no memory,
  // except for the name of the client.
  Item Pop(std::string* client = nullptr) {
    if (client != nullptr) *client = turns_.begin()->client;
    auto turn = turns_.extract(turns_.begin());
    now_ = turn.value().used;
    Client& next = clients_.find(turn.value().client)->second;
    Costed taken = std::move(next.items.front());
    next.items.pop_front();
    next.used += taken.cost;
    if (!next.items.empty()) {
      next.turn = ++num_turns_;
      turn.value().used = next.used;
      turn.value().turn = next.turn;
      turns_.insert(std::move(turn));
    }
    if (--size_ == 0) {
      clients_.clear();  // nobody waits: what was used before does not count
    } else if (clients_.size() > most_clients_) {
      ForgetIdle();
    }
    return std::move(taken.item);
  }

  // The item that Pop takes next. The queue is not empty.
  const Item& front() const {
    return clients_.find(turns_.begin()->client)->second.items.front().item;
  }

  // Adds `cost`, which may be negative, to what the client has used. No effect when no client
  // waits.
  void Charge(const std::string& client, double cost) {
    const auto found = clients_.find(client);
    if (found == clients_.end()) return;
    Client& charged = found->second;
    auto turn = turns_.extract({charged.used, charged.turn, client});  // empty without items
    charged.used = std::max(charged.used + cost, now_);
    if (turn.empty()) return;
    turn.value().used = charged.used;
    turns_.insert(std::move(turn));
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Costed {
    Item item;
    double cost;
  };
  struct Client {
    double used = 0;
    int64_t turn = 0;
    std::deque<Costed> items;
  };
  // Of a client with items. Equal clients take turns in the order in which they asked.
  struct Turn {
    double used;
    int64_t turn;
    std::string client;
    bool operator<(const Turn& other) const {
      return used != other.used ? used < other.used : turn < other.turn;
    }
  };

  // Takes time in the number of clients, and so is called when it has doubled.
  void ForgetIdle() {
    for (auto it = clients_.begin(); it != clients_.end();) {
      const bool is_idle = it->second.items.empty() && it->second.used <= now_;
      it = is_idle ? clients_.erase(it) : std::next(it);
    }
    most_clients_ = 2 * clients_.size() + kFewClients;
  }

  static constexpr size_t kFewClients = 64;

  std::unordered_map<std::string, Client> clients_;
  size_t most_clients_ = kFewClients;  // before ForgetIdle
  std::set<Turn> turns_;
  double now_ = 0;  // what the client of the last turn had used
  int64_t num_turns_ = 0;
  size_t size_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_FAIR_QUEUE_H_
