// Finds the frames in the bytes of an HTTP/2 connection, and the messages of gRPC in their data.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_HTTP2_FRAMES_H_
#define RUNNEL_TOOLS_SERVER_GRPC_HTTP2_FRAMES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace runnel::server {

// The header of a frame (RFC 9113, section 4.1).
struct Http2Frame {
  // The types that matter here.
  static constexpr uint8_t kData = 0;
  static constexpr uint8_t kHeaders = 1;
  static constexpr uint8_t kReset = 3;
  static constexpr uint8_t kSettings = 4;
  static constexpr uint8_t kPing = 6;
  static constexpr uint8_t kGoAway = 7;
  static constexpr uint8_t kWindowUpdate = 8;
  static constexpr uint8_t kContinuation = 9;
  // Flags.
  static constexpr uint8_t kEndStream = 1;   // of kData and kHeaders
  static constexpr uint8_t kAck = 1;         // of kSettings and kPing
  static constexpr uint8_t kEndHeaders = 4;  // of kHeaders and kContinuation
  static constexpr uint8_t kPadded = 8;      // of kData

  size_t size = 0;  // bytes after the header
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;  // 0: of the connection
};

// The bytes of a frame's header.
std::string HeaderBytes(const Http2Frame& frame);

// One direction of a connection.
class Http2Scanner {
 public:
  // What a client sends before its first frame; a server sends nothing.
  static constexpr std::string_view kClientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  static constexpr size_t kHeaderBytes = 9;  // of a frame

  explicit Http2Scanner(std::string_view preface) : preface_(preface) {}

  // Takes from the front of `bytes` what belongs to the preface. Throws std::runtime_error when the
  // connection does not begin with it.
  std::string_view TakePreface(std::string_view* bytes);

  // Takes bytes from the front of `bytes` up to the end of the next frame's header, and returns
  // that. Empty when all were taken before. Throws as TakePreface does.
  std::optional<Http2Frame> Next(std::string_view* bytes);

  // Takes from the front of `bytes` what belongs to the frame that Next returned last.
  std::string_view TakePayload(std::string_view* bytes);
  // Whether all of it was taken.
  bool is_frame_complete() const { return rest_ == 0; }

 private:
  std::string_view preface_;  // what is still to come
  size_t rest_ = 0;           // of the present frame
  std::array<uint8_t, kHeaderBytes> header_{};
  size_t header_size_ = 0;  // bytes of the next header that have come
};

// The messages of one direction of a call: each has a flag, its length in four bytes, and as many
// bytes (gRPC over HTTP2).
class MessageScanner {
 public:
  // Reads the next data of the call. Returns the length of the longest message that begins in it, 0
  // when none does.
  size_t Read(std::string_view data);
  // All of the messages that have begun has come.
  bool is_between_messages() const { return rest_ == 0 && prefix_size_ == 0; }

 private:
  static constexpr size_t kPrefixBytes = 5;

  std::array<uint8_t, kPrefixBytes> prefix_{};
  size_t prefix_size_ = 0;  // bytes of the next prefix that have come
  size_t rest_ = 0;         // of the present message
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_HTTP2_FRAMES_H_
