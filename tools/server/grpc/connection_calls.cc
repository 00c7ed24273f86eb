#include "tools/server/grpc/connection_calls.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace runnel::server {
namespace {

// What each part of a header counts at least, so that many empty ones are not for free.
constexpr size_t kLeastPart = 64;
// Frames in a second that do no work of an open call: pings, settings, what gRPC ignores. A client
// of gRPC sends some ten.
constexpr int kMostExtras = 100;
// A client that goes away says so once, or once with a large stream and then with its last one (RFC
// 9113, section 6.8).
constexpr int kMostGoAways = 2;
// A client gives back the window of its call and that of the connection.
constexpr int kUpdatesOfData = 2;

}  // namespace

ConnectionCalls::ConnectionCalls(CallPlaces* places, std::string account, size_t max_header_bytes,
                                 TakeMemory take_memory, CallProgress* progress)
    : places_(places),
      account_(std::move(account)),
      max_header_bytes_(max_header_bytes),
      take_memory_(std::move(take_memory)),
      progress_(progress) {}

ConnectionCalls::~ConnectionCalls() {
  const Time now = std::chrono::steady_clock::now();
  for (size_t i = 0; i < open_.size(); ++i) places_->FreeLater(account_, now);
}

bool ConnectionCalls::FromClient(std::string_view* bytes, Time now, std::string* passed) {
  passed->append(client_.TakePreface(bytes));
  for (;;) {
    if (!waiting_.has_value()) {
      const std::string_view payload = client_.TakePayload(bytes);
      ReadData(payload);
      passed->append(payload);
      if (ends_header_ && client_.is_frame_complete()) PassStream(passed);
      waiting_ = client_.Next(bytes);
    }
    if (!waiting_.has_value()) return true;
    if (!AdmitFrame(*waiting_, now)) return false;
    PassHeader(*waiting_, passed);
    waiting_.reset();
  }
}

// A stream that is paused may hold the large message before while the next one begins. That one
// cannot end before the stream asks for it, because it is larger than what gRPC's flow control lets
// a client send ahead.
void ConnectionCalls::TakeMemoryFor(size_t message, Call* call) {
  if (message > kSmallMessage) {
    call->memory_before = std::exchange(call->memory, take_memory_(message));
    if (call->memory == nullptr) {
      throw std::runtime_error("no memory for a message of " + std::to_string(message) + " bytes");
    }
  } else if (message > 0 || call->messages.is_between_messages()) {
    call->memory_before = nullptr;
  }
}

void ConnectionCalls::PassHeader(Http2Frame frame, std::string* passed) {
  const bool is_header =
      frame.type == Http2Frame::kHeaders || frame.type == Http2Frame::kContinuation;
  if (is_header && frame.stream == new_stream_ && (frame.flags & Http2Frame::kEndHeaders) != 0) {
    ends_header_ = true;
    frame.flags &= static_cast<uint8_t>(~Http2Frame::kEndHeaders);  // PassStream follows
  }
  passed->append(HeaderBytes(frame));
}

// As a literal field without indexing (RFC 7541, section 6.2.2), which changes no table.
void ConnectionCalls::PassStream(std::string* passed) {
  const auto append_string = [](std::string_view text, std::string* field) {
    field->push_back(static_cast<char>(text.size()));
    field->append(text);
  };
  std::string field(1, '\0');
  append_string(kStreamKey, &field);
  append_string(std::to_string(new_stream_), &field);
  passed->append(
      HeaderBytes({field.size(), Http2Frame::kContinuation, Http2Frame::kEndHeaders, new_stream_}));
  passed->append(field);
  ends_header_ = false;
  new_stream_ = 0;
}

bool ConnectionCalls::Close(uint32_t stream) {
  if (open_.erase(stream) == 0) return false;
  progress_->Close(stream);
  return true;
}

// Each frame takes gRPC some microseconds, on the threads that serve all calls, and gRPC keeps its
// answers until the client reads them.
bool ConnectionCalls::AdmitExtra(Time now) {
  if (now >= second_ + std::chrono::seconds(1)) {
    second_ = now;
    num_extras_ = 0;
  }
  if (num_extras_ >= kMostExtras) return false;
  ++num_extras_;
  return true;
}

// A frame that no call pays for, with its place or its data, is not work.
bool ConnectionCalls::DoesWork(const Http2Frame& frame) {
  const bool is_open = open_.count(frame.stream) > 0;
  switch (frame.type) {
    case Http2Frame::kData:
      return is_open && (frame.size > 0 || (frame.flags & Http2Frame::kEndStream) != 0);
    case Http2Frame::kHeaders:
      return frame.stream > last_stream_;
    case Http2Frame::kContinuation:
      return frame.stream == new_stream_;
    case Http2Frame::kReset:
      return is_open;
    case Http2Frame::kWindowUpdate:
      return num_updates_left_ > 0 && num_updates_left_-- > 0;
    case Http2Frame::kPing:
    case Http2Frame::kSettings:
      return (frame.flags & Http2Frame::kAck) != 0 && num_acks_left_[frame.type] > 0 &&
             num_acks_left_[frame.type]-- > 0;
    default:
      return false;
  }
}

bool ConnectionCalls::AdmitFrame(const Http2Frame& frame, Time now) {
  has_begun_ = true;
  data_stream_ = frame.type == Http2Frame::kData ? frame.stream : 0;
  if (frame.type == Http2Frame::kData) {
    data_left_ = frame.size;
    is_padding_next_ = (frame.flags & Http2Frame::kPadded) != 0;
  }
  if (!DoesWork(frame) && !AdmitExtra(now)) return false;
  if (frame.type == Http2Frame::kHeaders && frame.stream > last_stream_) {
    if (!places_->Take(account_, now)) return false;
    last_stream_ = new_stream_ = frame.stream;
    open_.try_emplace(frame.stream);
    progress_->Open(frame.stream);
  }
  if (frame.type == Http2Frame::kReset && Close(frame.stream)) {
    places_->FreeLater(account_, now);
  }
  if (frame.type == Http2Frame::kGoAway && ++num_goaways_ > kMostGoAways) {
    throw std::runtime_error("the client says more than " + std::to_string(kMostGoAways) +
                             " times that it goes away");
  }
  CheckHeader(frame);
  return true;
}

void ConnectionCalls::ReadData(std::string_view payload) {
  if (data_stream_ == 0 || payload.empty()) return;
  if (is_padding_next_) {
    is_padding_next_ = false;
    const size_t padding = 1 + static_cast<unsigned char>(payload.front());
    data_left_ -= std::min(data_left_, padding);
    payload.remove_prefix(1);
  }
  const std::string_view data = payload.substr(0, data_left_);
  data_left_ -= data.size();
  const auto call = open_.find(data_stream_);
  if (call == open_.end()) return;
  progress_->Add(data_stream_, data.size());
  TakeMemoryFor(call->second.messages.Read(data), &call->second);
}

void ConnectionCalls::CheckHeader(const Http2Frame& frame) {
  if (frame.type == Http2Frame::kHeaders) header_bytes_ = 0;
  if (frame.type != Http2Frame::kHeaders && frame.type != Http2Frame::kContinuation) return;
  header_bytes_ += std::max(frame.size, kLeastPart);
  if (header_bytes_ > max_header_bytes_) {
    throw std::runtime_error("the header of a call has more than " +
                             std::to_string(max_header_bytes_) + " bytes");
  }
}

void ConnectionCalls::FromServer(std::string_view bytes) {
  while (const std::optional<Http2Frame> frame = server_.Next(&bytes)) {
    const bool has_flag = frame->type == Http2Frame::kHeaders || frame->type == Http2Frame::kData;
    const bool is_header =
        frame->type == Http2Frame::kHeaders || frame->type == Http2Frame::kContinuation;
    is_in_header_ = is_header && (frame->flags & Http2Frame::kEndHeaders) == 0;
    if (frame->type == Http2Frame::kData) num_updates_left_ += kUpdatesOfData;
    const bool asks = frame->type == Http2Frame::kPing || frame->type == Http2Frame::kSettings;
    if (asks && (frame->flags & Http2Frame::kAck) == 0) ++num_acks_left_[frame->type];
    const bool ends = frame->type == Http2Frame::kReset ||
                      (has_flag && (frame->flags & Http2Frame::kEndStream) != 0);
    if (ends && Close(frame->stream)) places_->Free(account_);
  }
}

}  // namespace runnel::server
