// The limits of a server: values, and one table of their flags, units, ranges and meanings.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_LIMITS_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_LIMITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace runnel::server {

// Each field has the name, the unit and the default of its flag. LimitTable says what it means.
struct Limits {
  // Slots.
  int64_t max_streams = 500;
  int64_t max_streams_per_address = 100;
  int64_t max_connections = 1000;
  int64_t max_connections_per_address = 200;
  double max_connection_rate = 100;
  int64_t max_uploads = 8;
  int64_t max_media_streams = 64;

  // Sizes.
  int64_t max_message_bytes = 1 << 20;
  int64_t max_header_bytes = 16 << 10;
  int64_t max_body_mb = 64;
  int64_t max_bodies_mb = 192;
  int64_t max_send_queue_kb = 256;
  int64_t max_input_mb = 256;

  // Audio.
  int max_sample_rate = 192000;
  double max_recording_s = 3600;
  double max_audio_s = 4 * 3600;
  double max_buffered_s = 30;
  double max_speed = 10;

  // Time.
  double header_timeout_s = 10;
  double handshake_timeout_s = 10;
  double start_timeout_s = 10;
  double idle_timeout_s = 60;
  double silence_timeout_s = 900;
  double send_timeout_s = 30;
  double upload_wait_s = 10;
  double max_upload_s = 300;
  double reply_interval_s = 10;
  double max_stream_s = 4 * 3600;
  double drain_timeout_s = 60;

  // Compute per stream.
  int64_t max_chunk_size = 64;
  int64_t max_left_context = 512;
  int64_t max_right_context = 64;
  int64_t max_window_factor = 32;
  int max_beam_size = 32;
  int max_frame_tokens = 10;
  int max_nbest = 10;
  int64_t max_previews = 8;

  // Snapshots.
  double snapshot_interval_s = 2;
  int64_t snapshot_ttl_s = 600;
  int64_t max_snapshot_mb = 1024;

  size_t max_body_bytes() const { return static_cast<size_t>(max_body_mb) << 20; }
  int64_t max_bodies_bytes() const { return std::max(max_bodies_mb, max_body_mb) << 20; }
  size_t max_send_queue_bytes() const { return static_cast<size_t>(max_send_queue_kb) << 10; }
  size_t max_input_bytes() const { return static_cast<size_t>(max_input_mb) << 20; }
  int64_t max_snapshot_bytes() const { return max_snapshot_mb << 20; }
};

// One row of the table of limits.
struct LimitRow {
  const char* name;  // of the field and of the flag
  std::variant<int Limits::*, int64_t Limits::*, double Limits::*> field;
  double min;
  double max;
  const char* unit;     // "" for a count
  const char* meaning;  // for --help and docs/deploy.md
  const char* metric;   // the Prometheus series that counts when the limit is reached; "" for none
};

// All limits, in the order of the fields of Limits. The flags of stream_server are made from it
// (tools/server/server_flags.cc), and a test compares the table of docs/deploy.md with it.
const std::vector<LimitRow>& LimitTable();

// Throws std::invalid_argument naming the flag, its value and its range.
void CheckLimits(const Limits& limits);

// The same limits with so many connections in all; an address keeps its part of them.
Limits WithConnections(Limits limits, int64_t most);

// LimitTable with the defaults, as docs/deploy.md shows it.
std::string LimitTableAsMarkdown();

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_LIMITS_H_
