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
#include <string_view>
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
#include "tools/server/session/session_task.h"
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
// Errors, cancel requests and Disconnect end every state. What takes longer than a millisecond is
// the work of a task: reading a long message, preparing hotwords, writing a long result. A task
// owns the protocol: except for Disconnect, everything waits until it has ended, and after a final
// result is dropped.
class LiveSession {
 public:
  using Clock = std::chrono::steady_clock;

  // `services` outlive the session. `protocol`: null when the first message decides. `wake` may be
  // called from any thread.
  LiveSession(const Services& services, Client client, std::shared_ptr<Protocol> protocol,
              std::function<void()> wake);
  ~LiveSession();

  // The largest message that Receive accepts.
  size_t max_message_bytes() const;

  // The session holds a slot from now on. It ends when its client does not start a stream
  // (start_timeout_s) or sends no audio (silence_timeout_s).
  void OnSlot();

  // Handles a message of the client. To be called only while CanReceive, and once more for a
  // message that was being received when that became false. The second form takes a large message
  // without copying it.
  void Receive(const ClientMessage& message);
  void Receive(ReceivedMessage message);

  // The client sent a ping or answered one.
  void OnPing();

  // The client sends nothing more, though it may still read. True when closing() is to come: the
  // client has sent its last message, or ended an utterance and sent no audio since, or the session
  // has ended. False when the connection is as good as lost.
  bool EndInput();

  // Handles results of other threads, and deadlines that have passed.
  void Advance();

  // False while the session cannot use further messages: the audio buffer is full, audio came
  // faster than max_speed, requests wait for a snapshot, a task works, or the client does not fetch
  // its messages.
  // The owner then stops reading from the socket, so that TCP slows the client down.
  bool CanReceive() const;

  // True from the end of the audio until the session has ended.
  bool is_finishing() const { return state_ == State::kFinishing; }

  // Whether the server waits for the client: for a message, or at the end for it to read and close.
  bool awaits_client() const {
    return state_ == State::kEnded || (is_open() && !IsIdleSuspended());
  }

  // When the client last sent audio, or when the server last let it send further audio; the time of
  // the construction if never.
  Clock::time_point last_progress() const { return last_progress_; }

  // For the process that decodes the audio; null: there is none.
  const Ticket& media_place() const { return media_place_; }

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
  // The connection is lost, or the owner has sent the last message. A task that runs keeps what it
  // needs.
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
  void OnDone(const SessionMailbox::Done& done);
  void CheckDeadlines();

  MessageBuffer CopyOf(std::string_view bytes) const;
  // The message being read.
  void ReadPart();
  void OnRead(std::vector<ClientRequest> requests);
  // The protocol of the client may have no message before its first audio.
  void AllowSilence();
  void ReceiveUnread();

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

  // Of an update.
  struct UpdateInfo {
    ResultInfo result;
    std::string error;  // of the stream, in its last update
  };
  void EndUpdate(std::vector<std::string> texts, const UpdateInfo& info);

  // `work` is done by a task, which may outlive the session: of the session, it uses what it has
  // copied. What it returns is called by Advance.
  using Then = std::function<void()>;
  enum class Task { kNone, kOrdinary, kFinalResult };
  void StartTask(Task task, std::function<Then()> work);  // on a file thread
  void StartTask(Task task, std::function<Then()> work, TaskThreads* threads);

  void CloseNormally();
  void EndWith(const ProtocolError& error);
  void End(Closing closing);
  void FailDraining();
  void Guard(const std::function<void()>& work);

  // Whether requests and results can be handled.
  bool is_open() const { return state_ != State::kEnded && task_ == Task::kNone; }
  bool IsPaused() const;
  bool IsPausedBy(Pause reason) const;
  bool IsIdleSuspended() const;
  void OnProgress(Clock::time_point now);
  void ObservePauses();

  const Services& services_;
  const Client client_;
  const std::shared_ptr<SessionMailbox> mailbox_;
  State state_ = State::kOpening;
  std::shared_ptr<Protocol> protocol_;           // null until the first message has chosen it
  std::shared_ptr<SessionSnapshots> snapshots_;  // null: the client wants none
  Ticket media_place_;                           // null: no process decodes the audio
  std::unique_ptr<StreamFeed> feed_;             // in kStreaming and kFinishing, otherwise null
  std::deque<ClientRequest> requests_;           // wait for room in the stream, or for a resume
  OutgoingQueue outgoing_;
  std::optional<SessionMailbox::Snapshot> snapshot_;  // that the client was not told of
  Closing closing_;                                   // in kEnded
  std::shared_ptr<MessageReading> reading_;           // null between two messages
  Task task_ = Task::kNone;                           // the one that owns the protocol
  // Came meanwhile: what the owner was receiving, and the first reason to end.
  std::deque<ReceivedMessage> unread_;
  std::optional<ProtocolError> unhandled_error_;
  SessionDeadlines deadlines_;
  Clock::time_point last_progress_;
  bool has_flushed_ = false;  // no audio came since
  bool has_audio_ = false;    // came since the last wait of the client
  bool audio_waits_ = false;  // the client's, for room or because it came too fast
  AudioPacer pacer_;
  PauseCounter pauses_;
  SessionLatency latency_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_LIVE_SESSION_H_
