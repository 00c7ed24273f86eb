// Offers the slots of a stream to others while its client sends no audio.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_IDLE_SLOTS_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_IDLE_SLOTS_H_

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "tools/server/resources/admission.h"

namespace runnel::server {

// Why a stream ends whose slots others need.
constexpr char kGivenUp[] = "the server is full, and this stream sends no audio";

// A member of its connection, used on the connection's strand.
class IdleSlots {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Either may be null.
  IdleSlots(Ticket connection, Ticket stream)
      : connection_(std::move(connection)), stream_(std::move(stream)) {}

  // To be called once, before Update. `give_up`: as for Shares::Share::Offer.
  void SetHandler(std::function<void()> give_up) { give_up_ = std::move(give_up); }

  // To be called after every event. `awaits_client`: the server waits for the client, not the
  // client for the server. `last_progress`: changes when the slots were of use.
  void Update(bool awaits_client, Time last_progress) {
    if (awaits_client == is_offered_ && last_progress == last_progress_) return;
    // A stream that begins has not used them yet.
    const bool has_progress = last_progress_.has_value() && last_progress != last_progress_;
    for (const Ticket& slot : {connection_, stream_}) {
      if (slot == nullptr) continue;
      if (has_progress) slot->Use();
      slot->Offer(kIdlePatience, awaits_client ? give_up_ : nullptr);
    }
    is_offered_ = awaits_client;
    last_progress_ = last_progress;
  }

  // Gives both back.
  void Release() {
    connection_.reset();
    stream_.reset();
  }

 private:
  Ticket connection_;
  Ticket stream_;
  std::function<void()> give_up_;
  bool is_offered_ = false;
  std::optional<Time> last_progress_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_IDLE_SLOTS_H_
