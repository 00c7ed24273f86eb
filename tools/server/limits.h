// How much of the server one client, and all of them, may take.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_LIMITS_H_
#define RUNNEL_TOOLS_SERVER_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace runnel::server {

// One field per flag of stream_server, which says what it means (tools/server/server_flags.cc).
// Durations in seconds; 0 means no limit where it says so there.
struct Limits {
  // In numbers. A WebSocket connection is one stream from its upgrade on, an upload from its header
  // on.
  int64_t max_streams = 500;
  int64_t max_streams_per_address = 100;
  int64_t max_connections = 1000;
  int64_t max_connections_per_address = 200;
  int64_t max_uploads = 8;

  // In bytes.
  size_t max_message_bytes = size_t{1} << 20;
  size_t max_header_bytes = size_t{16} << 10;
  size_t max_body_bytes = size_t{64} << 20;
  size_t max_send_queue_bytes = size_t{256} << 10;

  // In audio.
  int max_sample_rate_hz = 48000;
  double max_recording_s = 3600;
  double max_audio_s = 4 * 3600;
  double max_buffered_s = 30;
  double max_speed = 10;  // times real time, after a first max_buffered_s at any speed

  // In time.
  double header_timeout_s = 10;
  double handshake_timeout_s = 10;
  double idle_timeout_s = 60;
  double send_timeout_s = 30;
  double max_upload_s = 300;
  double max_stream_s = 4 * 3600;
  double drain_timeout_s = 60;

  // In work per stream.
  int64_t max_chunk_size = 64;  // StreamOptions::kWholeUtterance: any, and that too
  int64_t max_left_context = 512;
  int max_beam_size = 32;
  int max_nbest = 10;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_LIMITS_H_
