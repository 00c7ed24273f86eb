// A queue whose turns go to the client that has used least, so that one that asks much delays
// itself.
#ifndef RUNNEL_RUNTIME_LIVE_FAIR_QUEUE_H_
#define RUNNEL_RUNTIME_LIVE_FAIR_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace runnel {

// Where an item of a FairQueue waits.
struct FairPlace {
  // The items of a client are taken from the lowest rank to the highest, equal ones in the order of
  // their Push.
  int64_t rank = 0;
  // While the item is its client's next, the client's turn comes as if it had used so much less.
  // The client gets ahead of its share by this much at most.
  double head_start = 0;
};

// Names an item that waits in a FairQueue.
struct FairTicket {
  int64_t rank = 0;
  int64_t number = 0;  // of the Push
  bool operator<(const FairTicket& other) const {
    return rank != other.rank ? rank < other.rank : number < other.number;
  }
};

// Start-time fair queueing (Goyal, Vin and Cheng 1996). A client is any name; "" is one, too.
// Clients that always have items get equal sums of costs. A client that had none for a while gets
// no more than others for it. Push, Pop and Move take time in the logarithm of the number of
// clients and of items. When no item is left, all clients are equal again. Not thread-safe.
template <class Item>
class FairQueue {
 public:
  FairQueue() = default;
  FairQueue(FairQueue&&) noexcept = default;
  FairQueue& operator=(FairQueue&&) noexcept = default;

  // `cost`: what the item is expected to take, in any unit, above 0. Charge corrects it later.
  // After std::bad_alloc nothing is pushed.
  FairTicket Push(const std::string& client, Item item, double cost, const FairPlace& place = {}) {
    Client& pushed = clients_[client];
    const FairTicket ticket{place.rank, ++num_pushed_};
    pushed.items.emplace(ticket, Waiting{std::move(item), cost, place.head_start});
    if (pushed.items.size() > 1) {
      PlaceTurn(&pushed);
    } else {
      pushed.used = std::max(pushed.used, now_);
      try {
        pushed.turn = turns_.insert({StartOf(pushed), ++num_turns_, client}).first;
      } catch (...) {
        pushed.items.clear();
        throw;
      }
    }
    ++size_;
    return ticket;
  }

  // The next item, and its client if `client` is not null. The queue is not empty. Takes no memory,
  // except for the name of the client.
  Item Pop(std::string* client = nullptr) {
    if (client != nullptr) *client = turns_.begin()->client;
    auto turn = turns_.extract(turns_.begin());
    now_ = std::max(now_, turn.value().start);
    Client& next = clients_.find(turn.value().client)->second;
    auto taken = next.items.extract(next.items.begin());
    next.used += taken.mapped().cost;
    if (!next.items.empty()) {
      turn.value().start = StartOf(next);
      turn.value().number = ++num_turns_;
      next.turn = turns_.insert(std::move(turn)).position;
    }
    if (--size_ == 0) {
      clients_.clear();  // nobody waits: what was used before does not count
    } else if (clients_.size() > most_clients_) {
      ForgetIdle();
    }
    return std::move(taken.mapped().item);
  }

  // The item that Pop takes next. The queue is not empty.
  const Item& front() const {
    return clients_.find(turns_.begin()->client)->second.items.begin()->second.item;
  }

  // Moves an item of the client to another place, and returns it. Null, without an effect, when the
  // item does not wait. `ticket` is the item's from now on. Takes no memory.
  Item* Move(const std::string& client, const FairPlace& place, FairTicket* ticket) {
    const auto found = clients_.find(client);
    if (found == clients_.end()) return nullptr;
    Client& owner = found->second;
    auto moved = owner.items.extract(*ticket);
    if (moved.empty()) return nullptr;
    ticket->rank = place.rank;
    moved.key() = *ticket;
    moved.mapped().head_start = place.head_start;
    Item& item = owner.items.insert(std::move(moved)).position->second.item;
    PlaceTurn(&owner);
    return &item;
  }

  // Adds `cost`, which may be negative, to what the client has used. No effect when no client
  // waits.
  void Charge(const std::string& client, double cost) {
    const auto found = clients_.find(client);
    if (found == clients_.end()) return;
    Client& charged = found->second;
    charged.used = std::max(charged.used + cost, now_);
    if (!charged.items.empty()) PlaceTurn(&charged);
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Waiting {
    Item item;
    double cost;
    double head_start;
  };
  // Of a client with items. Equal clients take turns in the order in which they asked.
  struct Turn {
    double start;  // StartOf
    int64_t number;
    std::string client;
    bool operator<(const Turn& other) const {
      return start != other.start ? start < other.start : number < other.number;
    }
  };
  struct Client {
    double used = 0;
    std::map<FairTicket, Waiting> items;
    typename std::set<Turn>::iterator turn;  // while it has items
  };

  static double StartOf(const Client& client) {
    return client.used - client.items.begin()->second.head_start;
  }

  // After a change of what the client, which has items, has used, or of its next item.
  void PlaceTurn(Client* client) {
    auto turn = turns_.extract(client->turn);
    turn.value().start = StartOf(*client);
    client->turn = turns_.insert(std::move(turn)).position;
  }

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
  double now_ = 0;  // where the last turn started
  int64_t num_pushed_ = 0;
  int64_t num_turns_ = 0;
  size_t size_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_FAIR_QUEUE_H_
