// The calls of one connection, as its HTTP/2 frames show them.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_CONNECTION_CALLS_H_
#define RUNNEL_TOOLS_SERVER_GRPC_CONNECTION_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tools/server/grpc/call_places.h"
#include "tools/server/grpc/call_progress.h"
#include "tools/server/grpc/http2_frames.h"

namespace runnel::server {

// Decides how much of what a client sends gRPC may get. Used by one thread at a time.
class ConnectionCalls {
 public:
  using Time = CallPlaces::Time;

  // Memory for a message of so many bytes, until its last copy is gone; null when there is none.
  using TakeMemory = std::function<std::shared_ptr<void>(size_t num_bytes)>;
  // Messages up to this size need no memory of TakeMemory.
  static constexpr size_t kSmallMessage = size_t{64} << 10;

  // The metadata that names the HTTP/2 stream of a call, which gRPC does not tell: the last value
  // counts.
  static constexpr char kStreamKey[] = "runnel-http2-stream";
  static constexpr int kStreamBytes = 64;  // of this metadata, as HTTP/2 counts them

  // `account`: whose places the calls take. `max_header_bytes`: of the header of a call, as it is
  // sent. `progress`: of the calls. `places` and `progress` outlive the object.
  ConnectionCalls(CallPlaces* places, std::string account, size_t max_header_bytes,
                  TakeMemory take_memory, CallProgress* progress);
  // Its calls end with the connection.
  ~ConnectionCalls();
  ConnectionCalls(const ConnectionCalls&) = delete;
  ConnectionCalls& operator=(const ConnectionCalls&) = delete;

  // Takes from the front of `bytes` what gRPC may have, and appends it to `passed`. The header of
  // each call also gets the metadata kStreamKey. False when something waits: a call for a place, or
  // a frame that does no work of an open call and comes too soon. Throws std::runtime_error when
  // the connection is to be closed: it is not HTTP/2, has too large a header, begins a message for
  // which there is no memory, or says again and again that the client goes away.
  bool FromClient(std::string_view* bytes, Time now, std::string* passed);

  // Bytes that the server has sent.
  void FromServer(std::string_view bytes);

  // The client has begun to speak HTTP/2.
  bool has_begun() const { return has_begun_; }
  // The client has said that it goes away, and has no call: the server has sent the ends of all.
  bool is_over() const {
    return num_goaways_ > 0 && open_.empty() && !is_in_header_ && server_.is_frame_complete();
  }

 private:
  // gRPC keeps a message until all of it has come.
  struct Call {
    MessageScanner messages;
    std::shared_ptr<void> memory;         // of its last large message
    std::shared_ptr<void> memory_before;  // of the one before, until the last has come
  };

  // False when the frame has to wait.
  bool AdmitFrame(const Http2Frame& frame, Time now);
  bool DoesWork(const Http2Frame& frame);
  bool AdmitExtra(Time now);
  void ReadData(std::string_view payload);
  // `message`: the length of the longest that begins, 0: none.
  void TakeMemoryFor(size_t message, Call* call);
  void PassHeader(Http2Frame frame, std::string* passed);
  // Ends the header of a new call.
  void PassStream(std::string* passed);
  // Of a call that is over. False when the stream is not open.
  bool Close(uint32_t stream);
  void CheckHeader(const Http2Frame& frame);

  CallPlaces* const places_;
  const std::string account_;
  const size_t max_header_bytes_;
  const TakeMemory take_memory_;
  CallProgress* const progress_;
  Http2Scanner client_{Http2Scanner::kClientPreface};
  Http2Scanner server_{""};
  std::optional<Http2Frame> waiting_;        // was read, and has no place
  std::unordered_map<uint32_t, Call> open_;  // by stream
  uint32_t data_stream_ = 0;                 // of the frame of data that is being read; 0: none
  size_t data_left_ = 0;                     // bytes of that frame, with its padding
  bool is_padding_next_ = false;             // its first byte, the length of the padding
  uint32_t last_stream_ = 0;                 // that the client has opened
  uint32_t new_stream_ = 0;                  // whose first header is being read; 0: none
  bool ends_header_ = false;                 // with the present frame
  size_t header_bytes_ = 0;                  // of the present header
  int num_extras_ = 0;                       // frames that do no work of a call, since second_
  int64_t num_updates_left_ = 0;             // of windows, for the data that the server sent
  bool is_in_header_ = false;                // of several frames, which the server sends
  int num_goaways_ = 0;
  Time second_{};
  bool has_begun_ = false;
  // By type: answers that the server asked for.
  std::map<uint8_t, int64_t> num_acks_left_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_CONNECTION_CALLS_H_
