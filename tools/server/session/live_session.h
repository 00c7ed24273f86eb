// One client's conversation: a protocol on one side, a live stream on the other.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_LIVE_SESSION_H_
#define RUNNEL_TOOLS_SERVER_SESSION_LIVE_SESSION_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/live_stream.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/resources/services.h"
#include "tools/server/session/audio_pacer.h"
#include "tools/server/session/outgoing_queue.h"
#include "tools/server/session/pause_counter.h"
#include "tools/server/session/session_deadlines.h"
#include "tools/server/session/session_latency.h"
#include "tools/server/session/session_mailbox.h"
#include "tools/server/session/session_snapshots.h"
#include "tools/server/session/stream_feed.h"

namespace runnel::server {

// Knows no socket. Its owner passes on what the client sends (Receive), and fetches a message when
// it can send one (TakeMessage). Updates that a slow client has not fetched are merged into one.
//
// Used by one thread at a time. Results come from other threads: they call `wake`, after which the
// owner calls Advance soon. No method throws because of a client or a model: such an error ends the
// conversation.
//
//   kOpening --start--> kStreaming --finish--> kFinishing --> kEnded
//      \--resume--> kResuming --^
//
// Errors, cancel requests and Disconnect end every state. While a task writes the messages of a
// long result, it owns the protocol: except for Disconnect, everything waits until it has written
// them, and after a final result is dropped.
class LiveSession {
 public:
  using Clock = std::chrono::steady_clock;

  // `services` outlive the session. `id`: of the connection, for the client and the log.
  // `protocol`: null when the first message decides. `wake` may be called from any thread.
  LiveSession(const Services& services, std::string id, std::shared_ptr<Protocol> protocol,
              std::function<void()> wake);
  ~LiveSession();

  // The largest message that Receive accepts.
  size_t max_message_bytes() const;

  // Handles a message of the client. To be called only while CanReceive.
  void Receive(const ClientMessage& message);

  // The client sent a ping or answered one.
  void OnPing();

  // Handles results of other threads, and deadlines that have passed.
  void Advance();

  // False while the session cannot use further messages: the audio buffer is full, audio came
  // faster than max_speed, requests wait for a snapshot, or the client does not fetch its messages.
  // The owner then stops reading from the socket, so that TCP slows the client down.
  bool CanReceive() const;

  // True from the end of the audio until the session has ended.
  bool is_finishing() const { return state_ == State::kFinishing; }

  // When the owner calls Advance if nothing else happens; Clock::time_point::max() for never.
  Clock::time_point NextDeadline() const;

  // The next message for the client; empty when there is none now. The owner calls OnSent when the
  // message was sent.
  std::optional<OutgoingMessage> TakeMessage();
  void OnSent(const OutgoingMessage& message);

  // The close frame of the WebSocket; empty until the session has ended and all messages were
  // taken.
  std::optional<Closing> closing() const;

  // Ends the session with an error. The results so far are sent first.
  void Fail(ErrorCode code, const std::string& message);
  // Ends the session because the server shuts down. A last snapshot is stored first if the client
  // wants snapshots.
  void Drain();
  // The connection is lost.
  void Disconnect();

 private:
  enum class State {
    kOpening,    // no stream yet
    kResuming,   // waits for the snapshot store; other requests than replies wait
    kStreaming,  // takes audio
    kFinishing,  // no more audio comes; waits for the final result
    kEnded       // closing_ is known; queued messages are still sent
  };

  // The requests of a protocol (ClientRequest).
  void Handle(const StartRequest& request);
  void Handle(const ResumeRequest& request);
  void Handle(AudioRequest&& request);
  void Handle(const FlushRequest& request);
  void Handle(const FinishRequest& request);
  void Handle(const CancelRequest& request);
  void Handle(ImmediateReply&& reply);
  void Handle(const MoreRequest& request);
  void Handle(const ProtocolError& error);
  void HandleRequests();
  bool CanHandle(const ClientRequest& request) const;

  // What other threads and time bring.
  void OnResumed(SessionMailbox::Resumed resumed);
  void OnWritten(SessionMailbox::Written written);
  void CheckDeadlines();

  // `num_samples`: that a resumed stream contains already; -1 for a new stream.
  // `first_utterance`: that the client is sent.
  void StartStreaming(std::shared_ptr<LiveStream> stream, int64_t num_samples,
                      int64_t first_utterance);
  void CheckRoom(bool will_fit);

  void Enqueue(std::vector<std::string> texts);
  void EnqueueResult(std::vector<std::string> texts, ResultInfo result);
  void EnqueueUpdate();
  void EnqueueUtterances(std::vector<Utterance> utterances);
  void EnqueueSnapshot();

  // What the messages that a task writes are of.
  struct Writing {
    ResultInfo result;
    std::string error;  // of the stream, in its last update
  };
  void EndUpdate(std::vector<std::string> texts, const Writing& writing);
  void StartWriting(Writing writing, std::function<std::vector<std::string>()> write);

  void CloseNormally();
  void EndWith(const ProtocolError& error);
  void End(Closing closing);
  void FailDraining();
  void Guard(const std::function<void()>& work);

  // Whether requests and results can be handled.
  bool is_open() const { return state_ != State::kEnded && !writing_.has_value(); }
  bool IsPausedBy(Pause reason) const;
  bool IsIdleSuspended() const;
  void CountPauses();

  const Services& services_;
  const std::string id_;
  const std::shared_ptr<SessionMailbox> mailbox_;
  State state_ = State::kOpening;
  std::shared_ptr<Protocol> protocol_;           // null until the first message has chosen it
  std::shared_ptr<SessionSnapshots> snapshots_;  // null: the client wants none
  std::unique_ptr<StreamFeed> feed_;             // in kStreaming and kFinishing, otherwise null
  std::deque<ClientRequest> requests_;           // wait for room in the stream, or for a resume
  OutgoingQueue outgoing_;
  std::optional<SessionMailbox::Snapshot> snapshot_;  // that the client was not told of
  Closing closing_;                                   // in kEnded
  std::optional<Writing> writing_;                    // while a task owns the protocol
  // Came meanwhile: what the owner was reading, and the first reason to end.
  std::deque<std::pair<bool, std::string>> unread_;  // is text, bytes
  std::optional<ProtocolError> unhandled_error_;
  SessionDeadlines deadlines_;
  AudioPacer pacer_;
  PauseCounter pauses_;
  SessionLatency latency_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_LIVE_SESSION_H_
