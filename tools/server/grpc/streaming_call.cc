// A call of StreamingRecognize.
#include <memory>
#include <string>
#include <utility>

#include "tools/server/grpc/grpc_call.h"
#include "tools/server/riva/riva_protocol.h"
#include "tools/server/session/live_connection.h"

namespace runnel::server {
namespace {

constexpr int kNormalClose = 1000;  // of a LiveSession that ended without an error

grpc::Status StatusOf(const Closing& closing) {
  if (closing.code == kNormalClose) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(closing.code), closing.reason};
}

class StreamingCall : public GrpcCall, public LiveTransport {
 public:
  StreamingCall(CallContext context, const RivaModel& model, boost::asio::io_context* io)
      : GrpcCall(std::move(context), io),
        model_(model),
        live_(this, services(), client(), "call") {}

 private:
  void OnBegin() override {
    live_.Start(shared_from_this(), StrandExecutor(strand()), registry(), peer().slot->Join());
    live_.BeginSession(std::make_shared<RivaProtocol>(model_, id()));
    // The call keeps it, too, until the status was sent, so that the server does not end before.
    live_.HoldStreamSlot(slot());
    live_.Open();
  }

  void OnMessage(grpc::ByteBuffer* bytes) override {
    if (live_.CheckSize(bytes->Length())) {
      const grpc::Slice slice = SliceOf(*bytes);
      live_.session().Receive({/*is_text=*/false, View(slice)});
    }
    bytes->Clear();
    live_.Pump();
  }

  void OnHalfClose() override {
    live_.session().Receive({/*is_text=*/true, ""});
    live_.Pump();
  }

  void OnWritten() override { live_.OnWritten(); }
  void OnTime() override { live_.OnTimer(); }
  void OnLost() override { live_.OnDisconnect(); }

  void Read() override { GrpcCall::Read(); }
  void Write(const std::string& message) override { GrpcCall::Write(message); }
  void Close(const Closing& closing) override { End(StatusOf(closing)); }
  void Disconnect() override { Cancel(); }
  bool IsWatching() const override { return true; }  // gRPC calls OnCancel
  void WaitUntil(GrpcCall::Clock::time_point deadline) override { GrpcCall::WaitUntil(deadline); }

  const RivaModel& model_;
  LiveConnection live_;
};

}  // namespace

grpc::ServerGenericBidiReactor* ServeStreamingCall(CallContext context, const RivaModel& model,
                                                   boost::asio::io_context* io) {
  const auto call = std::make_shared<StreamingCall>(std::move(context), model, io);
  call->Begin();
  return call.get();
}

}  // namespace runnel::server
