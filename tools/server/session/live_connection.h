// The connection of a client with live streams: carries messages between its transport and a
// LiveSession.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_LIVE_CONNECTION_H_
#define RUNNEL_TOOLS_SERVER_SESSION_LIVE_CONNECTION_H_

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tools/server/protocol/protocol.h"
#include "tools/server/resources/idle_slot.h"
#include "tools/server/resources/message_buffer.h"
#include "tools/server/resources/services.h"
#include "tools/server/session/live_session.h"
#include "tools/server/session/outgoing_queue.h"
#include "tools/server/session/session_registry.h"

namespace runnel::server {

// A WebSocket, a connection of Wyoming or a call of gRPC, for its LiveConnection. The methods begin
// an operation and return at once.
class LiveTransport {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~LiveTransport() = default;

  // Reads the next message, unless a read is under way. Called again after every event, while the
  // session can receive.
  virtual void Read() = 0;
  // Sends `message`, which stays where it is. LiveConnection::OnWritten follows.
  virtual void Write(const std::string& message) = 0;
  // The session has ended, and all of its messages were sent. Its stream holds no slot any more.
  virtual void Close(const Closing& closing) = 0;
  // Ends the connection at once. Calls LiveConnection::OnDisconnect.
  virtual void Disconnect() = 0;
  // Whether the transport would notice a client that goes now.
  virtual bool IsWatching() const = 0;
  // Sends something that the system of a client refuses whose program has gone.
  virtual void Ping() {}
  // LiveConnection::OnTimer is to be called at `deadline`, or before.
  virtual void WaitUntil(Clock::time_point deadline) = 0;
};

// A member of its transport, used on the transport's strand. Bounds the time for which a client
// does not read, offers the slots of an idle client to others, and ends the connection, and no
// other, when a handler throws.
class LiveConnection {
 public:
  using Clock = LiveTransport::Clock;
  // Calls a function on the strand. For every thread, also when the transport has gone.
  using Executor = std::function<void(std::function<void()>)>;

  // `kind`: "connection" or "call", a constant for the log. `transport` and `services` outlive the
  // connection.
  LiveConnection(LiveTransport* transport, const Services& services, Client client,
                 const char* kind);

  // To be called once, before the other methods. `owner` holds the transport; the registry holds
  // `owner` during a session, because no operation may be under way. `slot`: of the connection.
  void Start(const std::shared_ptr<void>& owner, Executor executor, SessionRegistry* registry,
             Ticket slot);
  // Begins a session, the first or the next one, without a slot.
  void BeginSession(std::shared_ptr<Protocol> protocol);
  // The stream of the session holds `slot` from now on.
  void HoldStreamSlot(Ticket slot);
  void ReleaseStreamSlot() {
    stream_slot_.reset();
    media_slot_.reset();
  }
  bool has_stream_slot() const { return stream_slot_.has_value(); }
  // The client can be written to and read from, until Close or OnDisconnect.
  void Open();
  bool is_open() const { return is_open_; }

  LiveSession& session() { return *session_; }
  const LiveSession& session() const { return *session_; }

  // Takes results, reads, sends and closes, as far as each is possible now. To be called after
  // every event.
  void Pump();
  // Calls `work`, a handler of the transport.
  template <typename Work>
  void Guard(const Work& work) {
    try {
      work();
    } catch (const std::exception& error) {
      Fail(error);
    }
  }

  // For messages that are being received.
  MessageBuffer NewBuffer() const { return {services_.input_budget, client_.account}; }
  // Makes room for `count` bytes. False when there is none: the next Read tries again. A client
  // that has waited too long is refused.
  bool Reserve(MessageBuffer* buffer, size_t count);
  // False for a message of more bytes than the session accepts, which ends with an error.
  bool CheckSize(size_t num_bytes);
  // Hands over the message in the buffer, which is empty afterwards.
  void Receive(bool is_text, MessageBuffer* buffer);

  // Sends a message of the transport. Only while !is_sending().
  void Send(std::string text);
  bool is_sending() const { return sending_.has_value(); }
  void OnWritten();
  void OnTimer();
  // The connection is lost, or closed.
  void OnDisconnect();

 private:
  void SendNext();
  void Write(OutgoingMessage message);
  void GiveUp();
  std::function<void()> GivingUpSession();
  void UpdateSlots();
  void ReleaseSlots();
  void Fail(const std::exception& error);
  // `work`, called soon while the transport lives. For every thread.
  std::function<void()> Posting(std::function<void()> work);

  LiveTransport* const transport_;
  const Services& services_;
  const Client client_;
  const std::string kind_;
  std::weak_ptr<void> owner_;
  Executor executor_;
  SessionRegistry* registry_ = nullptr;
  SessionRegistry::Handle registration_;  // of the session, until it has ended
  std::optional<IdleSlot> connection_slot_;
  std::optional<IdleSlot> stream_slot_;
  std::optional<IdleSlot> media_slot_;  // of the process that decodes the audio of the session
  std::shared_ptr<LiveSession> session_;
  std::optional<OutgoingMessage> sending_;  // is being written
  Clock::time_point write_deadline_;
  Clock::time_point next_ping_ = Clock::time_point::max();
  BudgetWait budget_wait_;
  bool is_open_ = false;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_LIVE_CONNECTION_H_
