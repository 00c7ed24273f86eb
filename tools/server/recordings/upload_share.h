// What an uploaded recording holds of the server: slots, memory, and a place for decoding.
#ifndef RUNNEL_TOOLS_SERVER_RECORDINGS_UPLOAD_SHARE_H_
#define RUNNEL_TOOLS_SERVER_RECORDINGS_UPLOAD_SHARE_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tools/server/resources/admission.h"

namespace runnel::server {

// A member of its upload, used on the strand of the connection.
class UploadShare {
 public:
  using Clock = std::chrono::steady_clock;

  // `slot`: of the recording. `connection`: of its connection.
  UploadShare(Admission* admission, std::string account, Ticket slot, Ticket connection)
      : admission_(admission),
        account_(std::move(account)),
        slot_(std::move(slot)),
        connection_(std::move(connection)),
        memory_(admission->bodies().Take(account_, 0, Clock::now())) {}

  // To be called once, before the body is received. `give_up`: as for Shares::Share::Offer. Then
  // the slots are another's when the body does not arrive, the memory when others hold less of it.
  void Offer(std::function<void()> give_up) {
    give_up_ = std::move(give_up);
    memory_->Offer(Clock::duration::zero(), give_up_);
    connection_->Use();
    OfferSlots(kIdlePatience);
  }

  // `num_bytes` of the body have arrived in all. False when there is no memory for them.
  bool CountBody(size_t num_bytes) {
    const Clock::time_point now = Clock::now();
    const auto added = static_cast<int64_t>(num_bytes - num_counted_);
    num_counted_ = num_bytes;
    if (num_bytes >= num_used_ + kProgressBytes) {
      num_used_ = num_bytes;
      UseSlots();
    }
    memory_->Use(now);
    return memory_->Grow(added, now);
  }

  // The body is there. `on_place`: as for UploadPlaces::Wait.
  void WaitForPlace(std::function<void(UploadPlaces::Place place)> on_place) {
    UseSlots();
    OfferSlots(kPlacePatience);
    turn_ = admission_->places().Wait(account_, std::move(on_place));
  }

  // The recording is being decoded: from now on it does not wait for its client.
  void TakePlace(UploadPlaces::Place place) {
    turn_.reset();
    place_ = std::move(place);
    for (const Ticket& slot : {slot_, connection_}) slot->Offer({}, nullptr);
  }

  // The recording is decoded, or refused.
  void EndWork() {
    turn_.reset();
    place_.reset();
    memory_.reset();
  }

  // The slot of the recording, which this object then no longer holds.
  Ticket TakeSlot() { return std::move(slot_); }
  bool has_slot() const { return slot_ != nullptr; }

 private:
  // Bytes of a body that count as progress: fewer do not keep the slots of a slow client.
  static constexpr size_t kProgressBytes = 16384;
  // A recording that waits for a place for so long makes room when the server is full.
  static constexpr std::chrono::seconds kPlacePatience{1};

  void OfferSlots(Clock::duration patience) {
    for (const Ticket& slot : {slot_, connection_}) slot->Offer(patience, give_up_);
  }
  void UseSlots() {
    for (const Ticket& slot : {slot_, connection_}) slot->Use();
  }

  Admission* const admission_;
  const std::string account_;
  Ticket slot_;
  const Ticket connection_;
  std::shared_ptr<Shares::Share> memory_;  // of the body
  UploadPlaces::Turn turn_;                // while the recording waits for a place
  UploadPlaces::Place place_;              // while it is decoded
  std::function<void()> give_up_;
  size_t num_counted_ = 0;  // bytes of the body in memory_
  size_t num_used_ = 0;     // bytes at the last progress
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RECORDINGS_UPLOAD_SHARE_H_
