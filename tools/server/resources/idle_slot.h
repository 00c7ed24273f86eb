// Offers the slot of a connection or a stream to others while its client sends no audio.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_IDLE_SLOT_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_IDLE_SLOT_H_

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "tools/server/resources/admission.h"

namespace runnel::server {

// Why a stream ends whose slot others need.
constexpr char kGivenUp[] = "the server is full, and this stream sends no audio";

// A member of its connection, used on the connection's strand.
class IdleSlot {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `slot` may be null. `give_up`: as for Shares::Share::Offer.
  IdleSlot(Ticket slot, std::function<void()> give_up)
      : slot_(std::move(slot)), give_up_(std::move(give_up)) {}

  // To be called after every event. `awaits_client`: the server waits for the client, not the
  // client for the server. `last_progress`: changes when the slot was of use.
  void Update(bool awaits_client, Time last_progress) {
    if (slot_ == nullptr) return;
    if (awaits_client == is_offered_ && last_progress == last_progress_) return;
    // A stream that begins has not used it yet.
    if (last_progress_.has_value() && last_progress != last_progress_) slot_->Use();
    slot_->Offer(kIdlePatience, awaits_client ? give_up_ : nullptr);
    is_offered_ = awaits_client;
    last_progress_ = last_progress;
  }

 private:
  Ticket slot_;
  std::function<void()> give_up_;
  bool is_offered_ = false;
  std::optional<Time> last_progress_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_IDLE_SLOT_H_
