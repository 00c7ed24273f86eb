// The slot of a connection of the gRPC port, which the calls of the connection share.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_CONNECTION_SLOT_H_
#define RUNNEL_TOOLS_SERVER_GRPC_CONNECTION_SLOT_H_

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "tools/server/resources/admission.h"

namespace runnel::server {

// A call that was admitted has a share of the slot. Other clients may have the slot when every
// share has been offered, or is gone, for kIdlePatience. Calls that were not admitted keep nothing.
// Thread-safe.
class ConnectionSlot : public std::enable_shared_from_this<ConnectionSlot> {
 public:
  // `slot`: held by the connection, not by its calls.
  explicit ConnectionSlot(std::weak_ptr<Slot> slot) : slot_(std::move(slot)) {}

  // To be called once. `give_up`: as for Shares::Share::Offer; ends the connection.
  void Offer(std::function<void()> give_up);

  // The share of a call, not offered yet. What the call offers it with is not called: the end of
  // the connection ends the call.
  Ticket Join();

 private:
  class CallShare;

  void Use();
  void Keep();
  void Release();
  // Under mutex_.
  void Update();

  const std::weak_ptr<Slot> slot_;
  std::mutex mutex_;
  std::function<void()> give_up_;
  int num_keeping_ = 0;  // shares that are not offered
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_CONNECTION_SLOT_H_
