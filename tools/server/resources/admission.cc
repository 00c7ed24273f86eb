#include "tools/server/resources/admission.h"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace runnel::server {
namespace {

// Extra slots above the limits, for connections that are refused by an HTTP reply: in all, and for
// one address.
constexpr int64_t kMostRefusedAtOnce = 64;
constexpr int64_t kMostRefusedOfAddress = 8;

}  // namespace

struct Admission::State {
  explicit State(const Limits& given) : limits(given) {}

  Refusal RefusalOfStream(const std::string& address) const {
    if (is_draining) return Refusal::kDraining;
    if (num_streams >= limits.max_streams) return Refusal::kStreams;
    if (limits.max_streams_per_address > 0) {
      const auto found = streams_of.find(address);
      if (found != streams_of.end() && found->second >= limits.max_streams_per_address) {
        return Refusal::kAddress;
      }
    }
    return Refusal::kNone;
  }

  void AddStream(const std::string& address) {
    ++num_streams;
    ++streams_of[address];
  }

  void RemoveStream(const std::string& address) {
    --num_streams;
    Remove(address, &streams_of);
  }

  // By address, without addresses that have none.
  using Counts = std::unordered_map<std::string, int64_t>;

  static void Remove(const std::string& address, Counts* counts) {
    const auto found = counts->find(address);
    if (--found->second == 0) counts->erase(found);
  }

  const Limits limits;
  mutable std::mutex mutex;
  bool is_draining = false;
  int64_t num_streams = 0;
  int64_t num_uploads = 0;
  int64_t num_connections = 0;
  Counts streams_of;
  Counts connections_of;
  Counts refused_of;  // connections above the limit, by peer
};

namespace {

// Calls `release` under the state's mutex when the last copy is gone.
template <typename State, typename Release>
Ticket MakeTicket(const std::shared_ptr<State>& state, Release release) {
  return Ticket(state.get(), [state, release = std::move(release)](void*) {
    const std::lock_guard<std::mutex> lock(state->mutex);
    release(state.get());
  });
}

}  // namespace

Admission::Admission(const Limits& limits) : state_(std::make_shared<State>(limits)) {}

Ticket Admission::AdmitStream(const std::string& address, Refusal* refusal) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  *refusal = state_->RefusalOfStream(address);
  if (*refusal != Refusal::kNone) return nullptr;
  state_->AddStream(address);
  return MakeTicket(state_, [address](State* state) { state->RemoveStream(address); });
}

Ticket Admission::AdmitUpload(const std::string& address, Refusal* refusal) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  *refusal = state_->RefusalOfStream(address);
  if (*refusal == Refusal::kNone && state_->num_uploads >= state_->limits.max_uploads) {
    *refusal = Refusal::kUploads;
  }
  if (*refusal != Refusal::kNone) return nullptr;
  state_->AddStream(address);
  ++state_->num_uploads;
  return MakeTicket(state_, [address](State* state) {
    state->RemoveStream(address);
    --state->num_uploads;
  });
}

Ticket Admission::AdmitConnection(const std::string& peer, Refusal* refusal) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const int64_t above = state_->num_connections - state_->limits.max_connections;
  if (above < 0) {
    *refusal = Refusal::kNone;
    ++state_->num_connections;
    return MakeTicket(state_, [](State* state) { --state->num_connections; });
  }
  *refusal = Refusal::kConnections;
  if (above >= kMostRefusedAtOnce) return nullptr;
  const auto found = state_->refused_of.find(peer);
  if (found != state_->refused_of.end() && found->second >= kMostRefusedOfAddress) return nullptr;
  ++state_->refused_of[peer];
  ++state_->num_connections;
  return MakeTicket(state_, [peer](State* state) {
    State::Remove(peer, &state->refused_of);
    --state->num_connections;
  });
}

Ticket Admission::AdmitAddress(const std::string& address, Refusal* refusal) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const int64_t most = state_->limits.max_connections_per_address;
  int64_t& count = state_->connections_of[address];
  *refusal = most == 0 || count < most ? Refusal::kNone : Refusal::kAddressConnections;
  if (most > 0 && count >= most + kMostRefusedOfAddress) return nullptr;
  ++count;
  return MakeTicket(state_,
                    [address](State* state) { State::Remove(address, &state->connections_of); });
}

void Admission::Drain() {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  state_->is_draining = true;
}

bool Admission::is_draining() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->is_draining;
}

bool Admission::is_full() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->num_streams >= state_->limits.max_streams ||
         state_->num_connections > state_->limits.max_connections;
}

int64_t Admission::num_streams() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->num_streams;
}

int64_t Admission::num_connections() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return state_->num_connections;
}

}  // namespace runnel::server
