#include "tools/server/resources/limits.h"

#include <algorithm>
#include <cmath>

#include "runtime/recognizer.h"
#include "runtime/stream.h"
#include "runtime/text/require_range.h"
#include "tools/server/protocol/start_options.h"
#include "tools/server/store/make_snapshot_store.h"

namespace runnel::server {
namespace {

constexpr double kMost = static_cast<double>(int64_t{1} << 40);
constexpr double kMostMiB = 1 << 20;
constexpr double kLongestS = 1e9;
constexpr double kShortestS = 0.1;  // of a timeout that cannot be switched off

// A field's name is its flag's: a row cannot give it another one.
#define FIELD(name) #name, &Limits::name

std::vector<LimitRow> MakeTable() {
  return {
      {FIELD(max_streams), 1, kMost, "",
       "Streams at once; more are refused with 503. A WebSocket connection is one stream from its "
       "upgrade on, a recording from its header on. A full server ends a stream that has sent no "
       "audio for 10 s, of the address that has most, for a client of another. Where that one has "
       "at most half as many: after 3.3 s, or before its first audio.",
       R"(runnel_rejections_total{reason="full"})"},
      {FIELD(max_streams_per_address), 0, kMost, "",
       "Streams and recordings at once per client address (IPv6: per /64 network); 0: no limit.",
       R"(runnel_rejections_total{reason="address_full"})"},
      {FIELD(max_connections), 1, kMost, "",
       "Connections at once; more are refused with 503. A full server closes a connection that "
       "waits for a request or for audio, of the address that has most, for a client of another.",
       R"(runnel_rejections_total{reason="connections_full"})"},
      {FIELD(max_connections_per_address), 0, kMost, "",
       "Connections at once per client address (IPv6: per /64 network); 0: no limit.",
       R"(runnel_rejections_total{reason="address_connections_full"})"},
      {FIELD(max_connection_rate), 0, kLongestS, "per second",
       "Connections that a client address (IPv6: /64 network) may open, after "
       "--max_connections_per_address at once. More wait. Of a trusted proxy, each request counts "
       "for the address of its client. 0, or --max_connections_per_address=0: no limit.",
       R"(runnel_pauses_total{reason="connections"})"},
      {FIELD(max_uploads), 0, kMost, "",
       "Recordings that are decoded at once, over HTTP and gRPC; more wait or are refused. An "
       "address gets more than one place only while fewer than half are taken, unless "
       "--max_streams_per_address is 0.",
       R"(runnel_rejections_total{reason="uploads_full"})"},
      {FIELD(max_media_streams), 0, kMost, "",
       "Streams at once whose audio a process of media_decoder decodes: all containers but WAV and "
       "Ogg Opus. More are ended with the error `full`. An address has half of them at most, "
       "unless "
       "--max_streams_per_address is 0. When all are taken, a stream that sends no audio is ended "
       "as with --max_streams.",
       R"(runnel_rejections_total{reason="media_streams_full"})"},

      {FIELD(max_message_bytes), 1024, kMost, "bytes",
       "Size of a WebSocket message; a larger one ends the stream. OpenAI's clients may send 15 "
       "times as much audio in one.",
       R"(runnel_rejections_total{reason="message_too_large"})"},
      {FIELD(max_header_bytes), 1024, 1 << 24, "bytes",
       "Size of an HTTP header; a larger one is refused with 431.",
       R"(runnel_rejections_total{reason="header_too_large"})"},
      {FIELD(max_body_mb), 1, kMostMiB, "MiB",
       "Size of a recording; a larger one is refused with 413.",
       R"(runnel_rejections_total{reason="body_too_large"})"},
      {FIELD(max_bodies_mb), 1, kMostMiB, "MiB",
       "Recordings in memory, all together; --max_body_mb if that is more. When they are more, one "
       "of the address that has most is refused with 503.",
       R"(runnel_rejections_total{reason="uploads_full"})"},
      {FIELD(max_send_queue_kb), 1, 1 << 20, "KiB",
       "Results that wait for a client; beyond it, the server stops reading from the client.",
       R"(runnel_pauses_total{reason="send_queue"})"},
      {FIELD(max_input_mb), 1, kMostMiB, "MiB",
       "Messages and audio of all clients that wait to be decoded; a client may hold a third of "
       "what is left. A message that has no room for 30 s is refused.",
       R"(runnel_rejections_total{reason="input_full"})"},

      {FIELD(max_sample_rate), StreamOptions::kMinRate, StreamOptions::kMaxRate, "Hz",
       "Largest sample rate of streams and recordings.", ""},
      {FIELD(max_recording_s), kShortestS, kLongestS, "s",
       "Duration of a recording; a longer one is refused with 413.",
       R"(runnel_rejections_total{reason="recording_too_long"})"},
      {FIELD(max_audio_s), 0, kLongestS, "s", "Audio of a stream, at any speed; 0: no limit.",
       R"(runnel_rejections_total{reason="audio_limit"})"},
      {FIELD(max_buffered_s), RecognizerOptions::kMinBufferedS, RecognizerOptions::kMaxBufferedS,
       "s",
       "Audio of a stream that is not decoded yet; beyond it, the server stops reading from the "
       "client.",
       R"(runnel_pauses_total{reason="buffer"})"},
      {FIELD(max_speed), 0, kLongestS, "times real time",
       "Speed at which audio is read, after a first --max_buffered_s at any speed; 0: no limit.",
       R"(runnel_pauses_total{reason="speed"})"},

      {FIELD(header_timeout_s), kShortestS, kLongestS, "s",
       "Time for an HTTP header, and between two requests.",
       R"(runnel_rejections_total{reason="header_timeout"})"},
      {FIELD(handshake_timeout_s), kShortestS, kLongestS, "s",
       "Time for a TLS or WebSocket handshake.",
       R"(runnel_rejections_total{reason="websocket_handshake"})"},
      {FIELD(start_timeout_s), 0, kLongestS, "s",
       "Time after which a connection ends whose client has not started its stream; not with "
       "OpenAI's and Vosk's clients. 0: no limit.",
       R"(runnel_rejections_total{reason="idle_timeout"})"},
      {FIELD(idle_timeout_s), 0, kLongestS, "s",
       "Time without a message, after which a stream ends; with OpenAI's and Vosk's clients also "
       "without an answer to a ping. 0: no limit.",
       R"(runnel_rejections_total{reason="idle_timeout"})"},
      {FIELD(silence_timeout_s), 0, kLongestS, "s",
       "Time without audio, after which a stream ends, whatever else its client sends. 0: no "
       "limit.",
       R"(runnel_rejections_total{reason="idle_timeout"})"},
      {FIELD(send_timeout_s), kShortestS, kLongestS, "s",
       "Time that a client may take to read one message.",
       R"(runnel_rejections_total{reason="slow_reader"})"},
      {FIELD(upload_wait_s), 0, kLongestS, "s",
       "Time that a recording over HTTP waits, when it has arrived, while others have all of "
       "--max_uploads; then it is refused with 503.",
       R"(runnel_rejections_total{reason="uploads_full"})"},
      {FIELD(max_upload_s), kShortestS, kLongestS, "s",
       "Time that the body of a recording may take to arrive. A body of which nothing comes for "
       "--idle_timeout_s is refused in the same way.",
       R"(runnel_rejections_total{reason="upload_timeout"})"},
      {FIELD(reply_interval_s), 0, kLongestS, "s",
       "Time without a byte for a client whose recording is being decoded. Then the reply begins, "
       "if "
       "its format permits that, so that proxies and clients do not give up. 0: no limit.",
       ""},
      {FIELD(max_stream_s), 0, kLongestS, "s", "Time that a stream may last; 0: no limit.",
       R"(runnel_rejections_total{reason="time_limit"})"},
      {FIELD(drain_timeout_s), 0, kLongestS, "s", "Time that streams may go on after SIGTERM.", ""},

      {FIELD(max_chunk_size), -1, kMost, "encoder frames",
       "Largest chunk_size that a client may ask for; -1: any, also the whole utterance.", ""},
      {FIELD(max_left_context), 0, kMost, "encoder frames",
       "Largest left_context that a client may ask for.", ""},
      {FIELD(max_right_context), 0, kMost, "encoder frames",
       "Largest right_context that a client may ask for.", ""},
      {FIELD(max_window_factor), 1, kMost, "",
       "Encoder frames that a window may compute (left_context, chunk_size and right_context; with "
       "cached_windows at most 64 of left_context) for each frame of its chunk.",
       ""},
      {FIELD(max_beam_size), 1, SearchOptions::kMaxBeamSize, "",
       "Largest beam_size that a client may ask for.", ""},
      {FIELD(max_frame_tokens), 0, SearchOptions::kMaxSymbols, "",
       "Most tokens of one encoder frame that a client may ask for.", ""},
      {FIELD(max_nbest), 1, kMaxNBest, "",
       "Largest nbest (results of an utterance) that a client may ask for. Clients of Vosk, Riva "
       "and "
       "WeNet that ask for more get this many.",
       ""},
      {FIELD(max_previews), 0, kMost, "per chunk",
       "Previews of early_text that a client may ask for; each costs up to a chunk. 0: none.", ""},

      {FIELD(snapshot_interval_s), kShortestS, kLongestS, "s",
       "Audio between two snapshots of a stream.", ""},
      {FIELD(snapshot_ttl_s), 1, static_cast<double>(kMaxSnapshotLife.count()), "s",
       "Time that a snapshot is kept; a year at most.", ""},
      {FIELD(max_snapshot_mb), 1, 1 << 30, "MiB",
       "Size of all snapshots in a folder, or of those that this server has in Redis. Beyond it, "
       "the oldest snapshot of the client address that has most is dropped.",
       R"(runnel_snapshots_total{result="dropped"})"},
  };
}

#undef FIELD

double ValueOf(const Limits& limits, const LimitRow& row) {
  return std::visit([&](const auto field) { return static_cast<double>(limits.*field); },
                    row.field);
}

}  // namespace

const std::vector<LimitRow>& LimitTable() {
  static const std::vector<LimitRow> table = MakeTable();
  return table;
}

void CheckLimits(const Limits& limits) {
  for (const LimitRow& row : LimitTable()) {
    RequireInRange(std::string("--") + row.name, ValueOf(limits, row), row.min, row.max, row.unit);
  }
}

Limits WithConnections(Limits limits, int64_t most) {
  const double part = static_cast<double>(most) / static_cast<double>(limits.max_connections);
  limits.max_connections = most;
  if (limits.max_connections_per_address > 0) {
    limits.max_connections_per_address = std::max<int64_t>(
        1, std::llround(part * static_cast<double>(limits.max_connections_per_address)));
  }
  return limits;
}

std::string LimitTableAsMarkdown() {
  const auto code = [](const std::string& text) { return text.empty() ? "" : "`" + text + "`"; };
  std::string text =
      "| flag | default | unit | meaning | counted by |\n| --- | --- | --- | --- | --- |\n";
  for (const LimitRow& row : LimitTable()) {
    text += "| " + code(std::string("--") + row.name) + " | " + NumberText(ValueOf(Limits{}, row)) +
            " | " + row.unit + " | " + row.meaning + " | " + code(row.metric) + " |\n";
  }
  return text;
}

}  // namespace runnel::server
