// One client's conversation: its protocol on one side, its live stream on the other; no socket.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below websocket_session).
#ifndef RUNNEL_TOOLS_SERVER_LIVE_SESSION_H_
#define RUNNEL_TOOLS_SERVER_LIVE_SESSION_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/live_stream.h"
#include "tools/server/protocol.h"
#include "tools/server/services.h"
#include "tools/server/session_mailbox.h"
#include "tools/server/session_snapshots.h"

namespace runnel::server {

// A message for the client, and what is measured when it has been sent.
struct OutgoingMessage {
  using Time = std::chrono::steady_clock::time_point;

  std::string text;
  std::optional<Time>
      chunk_accepted;  // last sample of the oldest chunk whose text it is the first with
  bool has_text = false;
  bool is_final = false;
  bool is_snapshot = false;
};

// Pulled, not pushing: the owner hands in what arrives, and takes a message whenever it can send
// one. What a client that reads slowly has not taken is one update, merged from all since.
//
// Used by one thread at a time. Results come from other threads; for each the session calls `wake`,
// from any thread, whereupon the owner calls Advance soon. Nothing throws for what a client or the
// model does.
class LiveSession : public std::enable_shared_from_this<LiveSession> {
 public:
  using Clock = std::chrono::steady_clock;

  // `services` outlives the session. `id`: of the connection, for clients and logs.
  LiveSession(const Services& services, std::string id, std::function<void()> wake);
  ~LiveSession();

  // A message of the client, only while CanReceive.
  void Receive(const ClientMessage& message);

  // Goes on with what other threads have done, and with what time has brought.
  void Advance();

  // False while what came is not used up: the buffer is full, audio came too fast, it came while a
  // snapshot is being fetched, or the client takes no messages. The owner then reads nothing, so
  // that the client is slowed by the network, and loses nothing.
  bool CanReceive() const;

  // When Advance is to be called, if nothing happens before; never: Clock::time_point::max().
  Clock::time_point NextDeadline() const;

  // The next message to send; none when there is nothing to say. OnSent when it is on its way.
  std::optional<OutgoingMessage> TakeMessage();
  void OnSent(const OutgoingMessage& message);

  // The WebSocket close code, when the conversation is over and every message was taken.
  std::optional<int> close_code() const;

  // Ends the conversation with an error, after what is known so far.
  void Fail(ErrorCode code, const std::string& message);
  // The same for a server that ends; first a last snapshot is kept, if the client wants such.
  void Drain();
  // The client is gone.
  void Disconnect();

 private:
  void Handle(const ClientRequest& request);
  void Handle(const StartRequest& request);
  void Handle(const ResumeRequest& request);
  void Handle(const AudioRequest& request);
  void Handle(const FinishRequest& request);
  void Handle(const CancelRequest& request);
  void Handle(const ImmediateReply& reply);
  void Handle(const ProtocolError& error);

  void HandleWaiting();
  void OfferHeldSamples();
  void OnResumed(SessionMailbox::Restored restored);
  void OnOpened(int64_t num_samples);
  void CheckTime();
  void Guard(const std::function<void()>& work);
  void Say(std::vector<std::string> texts, bool is_snapshot = false);
  void SayUpdate();
  void SayResult(std::vector<std::string> texts, OutgoingMessage about);
  void OnFinalTexts(std::vector<std::string> texts);
  void EndWell();
  void End(int close_code);
  void EndWith(const ProtocolError& error);
  void FailDraining();
  bool IsPausedBy(Pause reason) const;
  bool IsPaused() const;
  bool IsBlocked() const;
  bool CanHandle(const ClientRequest& request) const;
  void CountPauses();
  Clock::time_point AudioAllowedAt() const;

  const Services& services_;
  const std::string id_;
  const std::shared_ptr<SessionMailbox> mailbox_;
  std::shared_ptr<SessionSnapshots> snapshots_;  // null: none wanted
  std::shared_ptr<Protocol> protocol_;           // by the first message
  std::shared_ptr<LiveStream> stream_;
  bool is_resuming_ = false;  // waits for the store, until then:
  Clock::time_point resume_deadline_;
  Clock::time_point drain_deadline_ = Clock::time_point::max();  // of the last snapshot
  // The final message, whose text a task makes, to which the protocol belongs meanwhile: what the
  // client sends, and what time brings, makes no difference any more.
  std::optional<OutgoingMessage> finishing_;

  std::deque<ClientRequest> waiting_;  // behind held samples or a resume
  std::vector<float> held_;            // samples the stream had no room for
  size_t held_begin_ = 0;
  bool waits_for_room_ = false;
  int64_t num_received_ = 0;  // samples of this connection

  std::deque<OutgoingMessage> outgoing_;
  size_t outgoing_bytes_ = 0;
  std::optional<int> close_code_;  // over; what is in outgoing_ is still to be said

  const Clock::time_point start_;
  Clock::time_point last_message_;
  std::optional<Clock::time_point> first_audio_;
  std::optional<Clock::time_point> finish_;
  bool has_sent_text_ = false;
  bool was_blocked_ = false;
  std::array<bool, 3> is_pause_counted_{};  // by Pause: this one, that goes on
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_LIVE_SESSION_H_
