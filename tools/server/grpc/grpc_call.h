// The calls of gRPC with audio, and what both kinds of them share.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_GRPC_CALL_H_
#define RUNNEL_TOOLS_SERVER_GRPC_GRPC_CALL_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <grpcpp/support/status.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "runtime/text/printable.h"
#include "tools/server/grpc/grpc_peers.h"
#include "tools/server/protocol/protocol_error.h"
#include "tools/server/riva/grpc_status.h"
#include "tools/server/riva/riva_config.h"
#include "tools/server/session/connection_context.h"
#include "tools/server/transport/wake_timer.h"

namespace runnel::server {

// The data of a call that was admitted.
struct CallContext {
  const ConnectionServices* shared = nullptr;
  grpc::GenericCallbackServerContext* grpc = nullptr;  // valid until the call has ended
  std::shared_ptr<const GrpcPeer> peer;
  Client client;
  uint32_t stream = 0;  // of HTTP/2
  Ticket slot;          // of the stream, or of the recording that is on its way
};

// Passes the events of gRPC's threads to a strand, where all members and virtual methods are used.
// A call reads one message at a time, when it asks for it, so that HTTP/2 slows down a client whose
// messages are not read. Holds itself until gRPC has ended the call: when the client was sent the
// status, or is gone.
class GrpcCall : public grpc::ServerGenericBidiReactor,
                 public std::enable_shared_from_this<GrpcCall> {
 public:
  using Clock = std::chrono::steady_clock;
  using Strand = boost::asio::strand<boost::asio::io_context::executor_type>;

  GrpcCall(CallContext context, boost::asio::io_context* io);

  // To be called once, on any thread.
  void Begin();

  // By gRPC, on its threads.
  void OnReadDone(bool ok) final;
  void OnWriteDone(bool ok) final;
  void OnCancel() final;
  void OnDone() final;

 protected:
  // The call has begun.
  virtual void OnBegin() = 0;
  // A message of the client was read. `bytes` may be moved from.
  virtual void OnMessage(grpc::ByteBuffer* bytes) = 0;
  // The client sends no more messages.
  virtual void OnHalfClose() = 0;
  // The message given to Write was sent.
  virtual void OnWritten() = 0;
  // The time given to WaitUntil has come; perhaps an earlier time.
  virtual void OnTime() = 0;
  // The client is gone, or the call has failed. No method is called after this.
  virtual void OnLost() = 0;

  // Reads a message, unless one is being read or no more come.
  void Read();
  // Only while !is_writing().
  void Write(const std::string& message);
  // Adds to the metadata that ends the call. Before End.
  void AddTrailer(const std::string& key, const std::string& value);
  // Ends the call. Only while !is_writing().
  void End(const grpc::Status& status);
  // Ends the call at once, without a status.
  void Cancel();
  void WaitUntil(Clock::time_point deadline);
  // Calls `event` soon, unless the call has ended. From any thread.
  void Post(std::function<void()> event);

  bool is_writing() const { return is_writing_; }
  const Client& client() const { return context_.client; }
  // The connection of the call.
  const GrpcPeer& peer() const { return *context_.peer; }
  // Bytes of messages that have come, also of one that is not complete.
  uint64_t num_bytes() const { return peer().progress.num_bytes(context_.stream); }
  Ticket& slot() { return context_.slot; }
  const std::string& id() const { return context_.client.id; }
  const Services& services() const { return *context_.shared->services; }
  SessionRegistry* registry() const { return context_.shared->registry; }
  const Strand& strand() const { return strand_; }

 private:
  // The client has gone.
  void Lose();
  void Run(const std::function<void()>& event);

  CallContext context_;
  const Strand strand_;
  WakeTimer timer_;
  std::shared_ptr<GrpcCall> self_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  bool is_reading_ = false;
  bool is_half_closed_ = false;
  bool is_writing_ = false;
  bool is_lost_ = false;
  bool has_ended_ = false;  // the status is given to gRPC
};

// A call of StreamingRecognize: moves messages between gRPC and a LiveSession. Serves the call to
// its end; the result deletes itself after that.
grpc::ServerGenericBidiReactor* ServeStreamingCall(CallContext context, const RivaModel& model,
                                                   boost::asio::io_context* io);

// The same for a call of Recognize: one recording, decoded by the code behind POST /v1/recognize.
grpc::ServerGenericBidiReactor* ServeRecognizeCall(CallContext context, const RivaModel& model,
                                                   boost::asio::io_context* io);

// Shares the memory of a message that came in one piece. Throws std::runtime_error for a message
// that gRPC cannot decompress.
inline grpc::Slice SliceOf(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (buffer.TrySingleSlice(&slice).ok()) return slice;
  if (buffer.DumpToSingleSlice(&slice).ok()) return slice;
  throw std::runtime_error("a message of gRPC cannot be read");
}

// Valid while the slice is.
inline std::string_view View(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

// The status of a call that ends with an error.
inline grpc::Status StatusOf(const ProtocolError& error) {
  return {static_cast<grpc::StatusCode>(GrpcStatus(error.code)), Printable(error.message)};
}

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_GRPC_CALL_H_
