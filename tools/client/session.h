// Has a server recognise one recording: opens a stream, paces the audio, reads the results, and
// resumes the stream when a connection is lost.
#ifndef RUNNEL_TOOLS_CLIENT_SESSION_H_
#define RUNNEL_TOOLS_CLIENT_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tools/client/audio_track.h"
#include "tools/client/client_protocol.h"
#include "tools/client/connection.h"
#include "tools/client/event_loop.h"
#include "tools/client/packet_encoder.h"
#include "tools/client/server_url.h"

namespace runnel::client {

struct SessionOptions {
  std::vector<ServerUrl> servers;  // servers[first_server] is tried first
  size_t first_server = 0;
  std::string protocol = "runnel";
  StartOptions start;      // except sample_rate_hz, which is that of the track
  double speed = 1;        // relative to real time; 0: as fast as the server accepts audio
  double packet_ms = 100;  // of audio in one message; kOpusPacketMs with Opus
  // Whether to request snapshots and to try again when a connection is lost or refused.
  bool resumes = false;
  double retry_s = 60;    // time without progress after which the session fails
  double timeout_s = 30;  // longest silence of a server whose answer is due
  // Audio after a partial's audio_ms that its chunk needs, because the subsampling looks ahead. 45
  // ms for two 3x3 convolutions of stride 2 over frames of 10 ms with windows of 25 ms.
  double look_ahead_ms = 45;
  // Mean audio of a turn, in seconds, after which the client asks for the final text of its speech.
  // Turns are half as long to one and a half times as long, in whole messages. 0: no turns.
  double turn_s = 0;
  uint32_t seed =
      1;  // of the lengths of turns, and of the random part of the delays before a retry
};

// The time of a partial result, in milliseconds.
struct PartialTiming {
  double since_first_packet = 0;
  // From sending the packet with the last sample that the partial needs (audio_ms + look_ahead_ms),
  // or from the finish message if the audio ended before it, to the partial's arrival. -1: the
  // protocol does not report the audio that a partial covers, or it is that of an earlier partial,
  // as after a flush.
  double since_last_sample = -1;
  double server_latency = -1;  // the same, measured by the server; -1: not reported
};

struct SessionResult {
  bool is_success = false;
  std::string text;     // of all utterances
  std::string code;     // of a failure: from the server or ConnectionEnd, "timeout", "bad_reply"
  std::string message;  // of a failure: one line
  int num_resumes = 0;  // lost connections after which it tried to resume
  double final_ms = 0;  // from the finish message to the final result
  double server_final_ms = -1;  // the same, measured by the server; -1: not reported
  double send_lag_ms = 0;       // largest delay of a packet that the server was slow to accept
};

class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void OnPartial(const std::string& /*text*/, const PartialTiming& /*timing*/) {}
  // The final text of a turn came so long after the client had asked for it.
  virtual void OnTurn(double /*milliseconds*/) {}
  // An utterance has ended, also the last one.
  virtual void OnUtterance(const std::string& /*text*/) {}
  // The session goes on after a lost connection; `message` is the reason of the loss.
  virtual void OnRetry(const std::string& /*message*/) {}
  // The last call. It must not destroy the session, except through EventLoop::Post.
  virtual void OnEnd(const SessionResult& result) = 0;
};

// Used in the thread of its loop only. Starts connecting at once; a session that is destroyed
// before OnEnd drops its connection.
class Session : private ConnectionListener {
 public:
  // `track` may still grow; the caller then calls OnMoreAudio. Throws std::invalid_argument on an
  // unknown protocol.
  Session(EventLoop* loop, Connector* connector, const SessionOptions& options,
          std::shared_ptr<const AudioTrack> track, SessionListener* listener);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void OnMoreAudio();

  // Drops the connection without a message; OnEnd is not called.
  void Vanish();

 private:
  struct SentPacket {
    int64_t end;  // sample
    Clock::time_point time;
  };

  void OnOpen() override;
  void OnMessage(std::string_view bytes) override;
  void OnSent() override;
  void OnClosed(const ConnectionEnd& end) override;

  void Connect();
  StartOptions StartOptionsOfTrack() const;
  void BeginAudio(int64_t first_sample);
  void SendDue();
  void BeginTurn();
  void EndTurn(Clock::time_point now);
  void SendPacket(AudioPacket packet, Clock::time_point now);
  int64_t SamplesSpoken(Clock::time_point now) const;
  Clock::time_point TimeOf(int64_t sample) const;
  // Whether more audio is covered than before.
  bool CountProgress(int64_t num_samples);
  void ReportPartial(const ServerMessage& message);
  void OnServerError(const ServerMessage& message);
  void OnTimeout();
  void RetryOrFail(const ConnectionEnd& end);
  void End(SessionResult result);

  Connector* const connector_;
  const SessionOptions options_;
  const std::shared_ptr<const AudioTrack> track_;
  SessionListener* listener_;  // null after OnEnd

  const std::unique_ptr<ClientProtocol> protocol_;
  std::shared_ptr<Connection> connection_;
  std::unique_ptr<PacketEncoder> encoder_;  // of this connection; set while is_sending_audio_
  size_t server_;                           // index of the current server
  bool is_sending_audio_ = false;           // ready was received
  bool is_packet_under_way_ = false;
  bool is_finished_ = false;  // finish was sent
  int64_t first_sample_ = 0;  // sent over this connection
  int64_t next_sample_ = 0;   // to be sent
  int64_t turn_end_ = 0;      // sample after which the turn ends
  double look_ahead_ms_;
  std::deque<SentPacket> sent_;              // packets that no partial covers yet
  std::deque<Clock::time_point> turn_ends_;  // whose final texts have not come

  bool has_begun_ = false;        // audio was due at least once
  Clock::time_point begin_time_;  // of sample 0
  Clock::time_point first_sent_time_;
  Clock::time_point finish_time_;
  Clock::time_point last_word_time_;  // of the last message of any server
  double send_lag_ms_ = 0;

  std::string token_;  // of the newest snapshot; "": none
  int num_resumes_ = 0;
  int64_t num_covered_ = 0;  // samples covered by any partial or snapshot so far
  std::optional<Clock::time_point> trouble_begin_;  // first failure since num_covered_ grew
  bool has_failed_here_ = false;                    // stream_failed since then
  double wait_s_;                                   // before the next try
  std::minstd_rand random_;
  Timer pace_timer_;
  Timer retry_timer_;
  Timer silence_timer_;
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_SESSION_H_
