#include "tools/server/grpc/streaming_call.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tools/server/grpc/byte_buffers.h"
#include "tools/server/resources/idle_slots.h"
#include "tools/server/riva/riva_protocol.h"
#include "tools/server/session/live_session.h"

namespace runnel::server {
namespace {

constexpr int kNormalClose = 1000;  // of a LiveSession that ended without an error

grpc::Status StatusOf(const Closing& closing) {
  if (closing.code == kNormalClose) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(closing.code), closing.reason};
}

class StreamingCall : public GrpcCall {
 public:
  StreamingCall(CallContext context, const RivaModel& model, boost::asio::io_context* io)
      : GrpcCall(std::move(context), io), protocol_(std::make_shared<RivaProtocol>(model, id())) {}

 private:
  void OnBegin() override {
    live_ = std::make_unique<LiveSession>(services(), client(), std::move(protocol_),
                                          Posting(&StreamingCall::Pump));
    live_->OnSlot();
    slots_.emplace(peer().slot->Join(), slot());
    slots_->SetHandler(Posting(&StreamingCall::GiveUp));
    Pump();
  }

  std::function<void()> Posting(void (StreamingCall::*what)()) {
    return [weak = weak_from_this(), what] {
      const auto self = std::static_pointer_cast<StreamingCall>(weak.lock());
      if (self != nullptr) self->Post([call = self.get(), what] { (call->*what)(); });
    };
  }

  // The slot of this stream is another's now.
  void GiveUp() {
    slots_->Release();
    SetSlot(nullptr);
    services().metrics->CountRejection(Rejection::kIdle);
    live_->Fail(ErrorCode::kIdleTimeout, kGivenUp);
    Pump();
  }

  void OnMessage(grpc::ByteBuffer* bytes) override {
    if (bytes->Length() > live_->max_message_bytes()) {
      services().metrics->CountRejection(Rejection::kMessageTooLarge);
      live_->Fail(
          ErrorCode::kMessageTooLarge,
          "a message is longer than " + std::to_string(live_->max_message_bytes()) + " bytes");
    } else {
      const grpc::Slice slice = SliceOf(*bytes);
      live_->Receive({/*is_text=*/false, View(slice)});
    }
    bytes->Clear();
    Pump();
  }

  void OnHalfClose() override {
    live_->Receive({/*is_text=*/true, ""});
    Pump();
  }

  void OnWritten() override {
    live_->OnSent(*std::exchange(sending_, std::nullopt));
    Pump();
  }

  void OnTime() override { Pump(); }

  void OnDrain() override {
    live_->Drain();
    Pump();
  }

  void OnLost() override {
    if (live_ != nullptr) live_->Disconnect();
  }

  // Takes results, sends, reads and ends, as far as each is possible now. Called after every event.
  void Pump() {
    live_->Advance();
    if (!is_writing()) Send();
    if (has_ended()) return;
    if (live_->CanReceive()) Read();
    slots_->Update(live_->awaits_client(), live_->last_progress());
    WaitUntil(live_->NextDeadline());
  }

  void Send() {
    sending_ = live_->TakeMessage();
    if (sending_.has_value()) return Write(sending_->text);
    if (const std::optional<Closing> closing = live_->closing()) End(StatusOf(*closing));
  }

  std::shared_ptr<Protocol> protocol_;  // until the session has it
  std::unique_ptr<LiveSession> live_;
  std::optional<IdleSlots> slots_;          // from the beginning on
  std::optional<OutgoingMessage> sending_;  // is being written
};

}  // namespace

grpc::ServerGenericBidiReactor* ServeStreamingCall(CallContext context, const RivaModel& model,
                                                   boost::asio::io_context* io) {
  const auto call = std::make_shared<StreamingCall>(std::move(context), model, io);
  call->Begin();
  return call.get();
}

}  // namespace runnel::server
