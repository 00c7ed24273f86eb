// One recording recognised by a server: says hello, sends the audio in time, reads the results, and
// continues elsewhere when a connection is lost.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below stream_client,
// load_client).
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
#include "tools/client/server_url.h"

namespace runnel::client {

struct SessionOptions {
  std::vector<ServerUrl> servers;  // the first that is tried is servers[first_server]
  size_t first_server = 0;
  std::string protocol = "runnel";
  StartOptions start;      // start.sample_rate_hz is the track's
  double speed = 1;        // times real time; 0: as fast as the server takes it
  double packet_ms = 100;  // audio in a message at most
  // Asks for snapshots and, when a connection is lost or refused, tries again.
  bool resumes = false;
  double retry_s = 60;    // how long it tries without getting further than before
  double timeout_s = 30;  // how long a server may be silent that owes an answer
  // Audio beyond a partial's audio_ms that had to be there for it: the subsampling reads that much
  // ahead. 45: four frames of 10 ms become one by two 3x3 convolutions, over windows of 25 ms.
  double look_ahead_ms = 45;
  uint32_t seed = 1;  // of the random part of waiting times
};

// When a partial came, in milliseconds.
struct PartialTiming {
  double since_first_packet = 0;
  // From sending the packet with the last sample that the partial needed (audio_ms + look_ahead_ms;
  // when the audio ended before that: from saying so) until it was here. -1: the protocol does not
  // say what a partial covers.
  double since_last_sample = -1;
  double server_latency = -1;  // as the server measured it; -1: the protocol does not say
};

struct SessionResult {
  bool is_success = false;
  std::string text;     // of the final result
  std::string code;     // of a failure: the server's, or ConnectionEnd's, "timeout", "bad_reply"
  std::string message;  // of a failure: one line
  int num_resumes = 0;  // times that it lost its connection and tried to go on
  double final_ms = 0;  // from saying that the audio has ended to the final result
  double server_final_ms = -1;  // the same as the server measured it; -1: the protocol does not say
  double send_lag_ms = 0;       // most that a packet was late, because the server did not take it
};

class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual void OnPartial(const std::string& /*text*/, const PartialTiming& /*timing*/) {}
  // The session goes on after a lost connection; `message` says why it had to.
  virtual void OnRetry(const std::string& /*message*/) {}
  // The last call. The session may be destroyed in it only by way of EventLoop::Post.
  virtual void OnEnd(const SessionResult& result) = 0;
};

// Lives in its loop's thread. Starts connecting at once; its end, before OnEnd, drops the
// connection.
class Session : private ConnectionListener {
 public:
  // `track` may still grow: then OnMoreAudio says so. Throws std::invalid_argument on a protocol's
  // name that is none.
  Session(EventLoop* loop, Connector* connector, const SessionOptions& options,
          std::shared_ptr<const AudioTrack> track, SessionListener* listener);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void OnMoreAudio();

  // Drops the connection without a word; there is no OnEnd.
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
  void BeginAudio(int64_t first_sample);
  void SendDue();
  int64_t SamplesDue(Clock::time_point now) const;
  Clock::time_point TimeOf(int64_t sample) const;
  void CountProgress(int64_t num_samples);
  void ReportPartial(const ServerMessage& message);
  void OnServerError(const ServerMessage& message);
  void OnTimeout();
  void RetryOrFail(const ConnectionEnd& end);
  void End(SessionResult result);

  Connector* const connector_;
  const SessionOptions options_;
  const std::shared_ptr<const AudioTrack> track_;
  SessionListener* listener_;  // null after OnEnd
  const int64_t packet_samples_;

  std::unique_ptr<ClientProtocol> protocol_;  // of this connection
  std::shared_ptr<Connection> connection_;
  size_t server_;                  // index of the one in use
  bool is_sending_audio_ = false;  // ready was heard
  bool is_packet_under_way_ = false;
  bool is_finished_ = false;  // finish was sent
  int64_t first_sample_ = 0;  // sent over this connection
  int64_t next_sample_ = 0;   // to be sent
  double look_ahead_ms_;
  std::deque<SentPacket> sent_;  // that partials have not covered yet

  bool has_begun_ = false;        // some audio was due once
  Clock::time_point begin_time_;  // of sample 0
  Clock::time_point first_sent_time_;
  Clock::time_point finish_time_;
  Clock::time_point last_word_time_;  // of any server
  double send_lag_ms_ = 0;

  std::string token_;  // of the newest snapshot; "": none
  int num_resumes_ = 0;
  int64_t num_heard_ = 0;  // samples up to which there was a partial or a snapshot, ever
  std::optional<Clock::time_point> trouble_begin_;  // first failure since num_heard_ grew
  bool has_failed_here_ = false;                    // stream_failed since then
  double wait_s_;                                   // before the next try
  std::minstd_rand random_;
  Timer pace_timer_;
  Timer retry_timer_;
  Timer silence_timer_;
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_SESSION_H_
