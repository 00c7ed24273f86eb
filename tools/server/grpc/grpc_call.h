// One call of gRPC: what the kinds of calls share.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_GRPC_CALL_H_
#define RUNNEL_TOOLS_SERVER_GRPC_GRPC_CALL_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tools/server/grpc/grpc_peers.h"
#include "tools/server/transport/connection_context.h"

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
// messages are not read. Holds itself until gRPC has ended the call. The slot is free when the
// client was sent the status, or is gone.
class GrpcCall : public grpc::ServerGenericBidiReactor,
                 public std::enable_shared_from_this<GrpcCall> {
 public:
  using Clock = std::chrono::steady_clock;

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
  // The server shuts down and waits no longer.
  virtual void OnDrain() = 0;
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
  void WaitUntil(Clock::time_point deadline);
  // Calls `event` soon, unless the call has ended. From any thread.
  void Post(std::function<void()> event);

  bool is_writing() const { return is_writing_; }
  bool has_ended() const { return has_ended_; }
  const Client& client() const { return context_.client; }
  // The connection of the call.
  const GrpcPeer& peer() const { return *context_.peer; }
  // Bytes of messages that have come, also of one that is not complete.
  uint64_t num_bytes() const { return peer().progress.num_bytes(context_.stream); }
  // Replaces the slot, which others may take meanwhile. Null: the call has none any more.
  void SetSlot(Ticket slot) { context_.slot = std::move(slot); }
  const Ticket& slot() const { return context_.slot; }
  const std::string& id() const { return context_.client.id; }
  const Services& services() const { return *context_.shared->services; }

 private:
  // The client has gone.
  void Lose();
  void Run(const std::function<void()>& event);
  void OnTimer();

  CallContext context_;
  boost::asio::strand<boost::asio::io_context::executor_type> strand_;
  boost::asio::steady_timer timer_;
  SessionRegistry::Handle registration_;
  std::shared_ptr<GrpcCall> self_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  Clock::time_point write_deadline_;
  Clock::time_point armed_for_ = Clock::time_point::max();
  bool is_reading_ = false;
  bool is_half_closed_ = false;
  bool is_writing_ = false;
  bool is_lost_ = false;
  bool has_ended_ = false;  // the status is given to gRPC
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_GRPC_CALL_H_
