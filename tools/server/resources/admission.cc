#include "tools/server/resources/admission.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace runnel::server {
namespace {

using Clock = std::chrono::steady_clock;

// Extra slots above the limits, for connections that are refused by an HTTP reply: in all, and for
// one account.
constexpr int64_t kMostRefusedAtOnce = 64;
constexpr int64_t kMostRefusedOfAccount = 8;

// Half of the places, or all of them without limits per address: all clients may have one address
// then, as behind a proxy.
int64_t SharedOf(int64_t num_places, const Limits& limits) {
  if (limits.max_streams_per_address == 0) return num_places;
  return std::max<int64_t>(1, (num_places + 1) / 2);
}

}  // namespace

ProtocolError RefusalError(Refusal refusal, Metrics* metrics) {
  switch (refusal) {
    case Refusal::kDraining:
      metrics->CountRejection(Rejection::kDraining);
      return {ErrorCode::kDraining, "the server is shutting down"};
    case Refusal::kAddress:
      metrics->CountRejection(Rejection::kAddressFull);
      return {ErrorCode::kAddressFull, "too many streams from this address"};
    case Refusal::kUploads:
      metrics->CountRejection(Rejection::kUploadsFull);
      return {ErrorCode::kFull, "too many recordings at the same time"};
    case Refusal::kMediaStreams:
      metrics->CountRejection(Rejection::kMediaStreamsFull);
      return {ErrorCode::kFull, "too many streams in a compressed format; Ogg Opus has room"};
    case Refusal::kAddressMedia:
      metrics->CountRejection(Rejection::kMediaStreamsFull);
      return {ErrorCode::kAddressFull,
              "too many streams in a compressed format from this address; Ogg Opus has room"};
    case Refusal::kConnections:
      metrics->CountRejection(Rejection::kConnectionsFull);
      return {ErrorCode::kFull, "too many connections"};
    case Refusal::kAddressConnections:
      metrics->CountRejection(Rejection::kAddressConnectionsFull);
      return {ErrorCode::kAddressFull, "too many connections from this address"};
    case Refusal::kStreams:
    case Refusal::kNone:
      break;
  }
  metrics->CountRejection(Rejection::kFull);
  return {ErrorCode::kFull, "too many streams"};
}

struct Admission::State {
  explicit State(const Limits& given) : limits(given) {}

  // By account, without accounts that have none.
  using Counts = std::unordered_map<std::string, int64_t>;

  static void Remove(const std::string& account, Counts* counts) {
    const auto found = counts->find(account);
    if (--found->second == 0) counts->erase(found);
  }

  const Limits limits;
  std::mutex mutex;
  bool is_draining = false;
  int64_t num_refused = 0;  // connections above the limit
  Counts refused_of;
  Counts connections_of;
};

namespace {

// Calls `release` under the state's mutex when the last copy is gone.
template <typename State, typename Release>
std::shared_ptr<void> OnRelease(const std::shared_ptr<State>& state, Release release) {
  return {state.get(), [state, release = std::move(release)](void*) {
            const std::lock_guard<std::mutex> lock(state->mutex);
            release(state.get());
          }};
}

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

// Why no slot is left: for anybody, or for an account.
struct Full {
  Refusal all;
  Refusal account;
};

// Under the state's mutex. Null with the reason when `account` has `most` slots, or none is left.
Ticket TakeSlot(Shares* shares, const std::string& account, int64_t most, const Full& full,
                Refusal* refusal) {
  *refusal = full.account;
  if (shares->AmountOf(account) >= most) return nullptr;
  std::shared_ptr<Shares::Share> share = shares->Take(account, 1, Clock::now());
  *refusal = share == nullptr ? full.all : Refusal::kNone;
  return share == nullptr ? nullptr : std::make_shared<Slot>(std::move(share));
}

}  // namespace

Admission::Admission(const Limits& limits)
    : state_(std::make_shared<State>(limits)),
      streams_(limits.max_streams),
      media_streams_(limits.max_media_streams),
      connections_(limits.max_connections),
      connection_rate_(limits.max_connections_per_address == 0 ? 0 : limits.max_connection_rate,
                       limits.max_connections_per_address),
      places_(limits.max_uploads, SharedOf(limits.max_uploads, limits)),
      bodies_(limits.max_bodies_bytes()) {}

Ticket Admission::AdmitStream(const std::string& account, Refusal* refusal) {
  const int64_t most = state_->limits.max_streams_per_address;
  // Two streams of one account are not admitted beside each other.
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->is_draining) {
    *refusal = Refusal::kDraining;
    return nullptr;
  }
  return TakeSlot(&streams_, account, most == 0 ? kNoLimit : most,
                  {Refusal::kStreams, Refusal::kAddress}, refusal);
}

Ticket Admission::AdmitUpload(const std::string& account, Refusal* refusal) {
  const Ticket stream = AdmitStream(account, refusal);
  if (stream == nullptr) return nullptr;
  auto both =
      std::make_shared<std::pair<Ticket, UploadPlaces::Place>>(stream, places_.Take(account));
  if (both->second != nullptr) return std::make_shared<Slot>(nullptr, std::move(both));
  *refusal = Refusal::kUploads;
  return nullptr;
}

Ticket Admission::AdmitMediaStream(const std::string& account, Refusal* refusal) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const Limits& limits = state_->limits;
  const int64_t half = SharedOf(limits.max_media_streams, limits);
  return TakeSlot(&media_streams_, account, limits.max_streams_per_address == 0 ? kNoLimit : half,
                  {Refusal::kMediaStreams, Refusal::kAddressMedia}, refusal);
}

Ticket Admission::AdmitConnection(const std::string& account, Refusal* refusal) {
  *refusal = Refusal::kNone;
  if (auto share = connections_.Take(account, 1, Clock::now())) {
    return std::make_shared<Slot>(std::move(share));
  }
  *refusal = Refusal::kConnections;
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (state_->num_refused >= kMostRefusedAtOnce) return nullptr;
  const auto found = state_->refused_of.find(account);
  if (found != state_->refused_of.end() && found->second >= kMostRefusedOfAccount) return nullptr;
  ++state_->num_refused;
  ++state_->refused_of[account];
  return std::make_shared<Slot>(nullptr, OnRelease(state_, [account](State* state) {
                                  State::Remove(account, &state->refused_of);
                                  --state->num_refused;
                                }));
}

Ticket Admission::AdmitAddress(const std::string& account, Refusal* refusal) {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  const int64_t most = state_->limits.max_connections_per_address;
  int64_t& count = state_->connections_of[account];
  *refusal = most == 0 || count < most ? Refusal::kNone : Refusal::kAddressConnections;
  if (most > 0 && count >= most + kMostRefusedOfAccount) return nullptr;
  ++count;
  return std::make_shared<Slot>(nullptr, OnRelease(state_, [account](State* state) {
                                  State::Remove(account, &state->connections_of);
                                }));
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
  return state_->num_refused > 0 || !streams_.HasRoom(Clock::now());
}

int64_t Admission::num_streams() const { return streams_.amount(); }

int64_t Admission::num_connections() const {
  const std::lock_guard<std::mutex> lock(state_->mutex);
  return connections_.amount() + state_->num_refused;
}

}  // namespace runnel::server
