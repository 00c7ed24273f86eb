#include "tools/server/websocket_session.h"

#include <glog/logging.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "encoder/first_line.h"
#include "tools/seconds.h"
#include "tools/server/live_session.h"

namespace runnel::server {
namespace {

namespace http = beast::http;
namespace websocket = beast::websocket;
using Clock = std::chrono::steady_clock;

// Bytes read at a time: a packet of audio, more of a large message. What a buffer keeps between
// messages.
constexpr size_t kFirstRead = 8192;
constexpr size_t kLargestRead = 65536;

// Held by the registry until it ends: while it does not read, no operation may be under way. All
// members on the stream's strand.
class WebSocketSession : public std::enable_shared_from_this<WebSocketSession> {
 public:
  WebSocketSession(AnyStream stream, ConnectionContext context, Ticket stream_ticket)
      : ws_(std::move(stream)),
        timer_(ws_.get_executor()),
        context_(std::move(context)),
        stream_ticket_(std::move(stream_ticket)) {}

  void Start(const http::request<http::empty_body>& request) {
    const auto weak = weak_from_this();
    const auto executor = ws_.get_executor();
    const auto post = [weak, executor](void (WebSocketSession::*what)()) {
      net::post(executor, [weak, what] {
        if (const auto self = weak.lock()) self->Guard([&] { (self.get()->*what)(); });
      });
    };
    live_ = std::make_shared<LiveSession>(services(), context_.id,
                                          [post] { post(&WebSocketSession::Pump); });
    registration_ = context_.shared->registry->Add(
        [self = shared_from_this(), post] { post(&WebSocketSession::Drain); });
    ws_.auto_fragment(false);
    ws_.read_message_max(0);  // OnRead counts, so that the client is told
    SetTimeouts(/*idle=*/true);
    ws_.async_accept(request, [self = shared_from_this()](ErrorOfSystem error) {
      self->Guard([&] { self->OnAccept(error); });
    });
  }

 private:
  const Services& services() const { return *context_.shared->services; }

  // Beast's own: pings, and an end when nothing at all comes back; not while we do not read.
  void SetTimeouts(bool idle) {
    const Limits& limits = services().limits;
    websocket::stream_base::timeout timeouts{};
    timeouts.handshake_timeout = Seconds(limits.handshake_timeout_s);
    timeouts.idle_timeout = idle && limits.idle_timeout_s > 0 ? Seconds(limits.idle_timeout_s)
                                                              : websocket::stream_base::none();
    timeouts.keep_alive_pings = true;
    has_idle_timeout_ = idle;
    ws_.set_option(timeouts);
  }

  // Whatever goes wrong in a handler ends this connection, and leaves nothing of it behind.
  template <typename Work>
  void Guard(const Work& work) {
    try {
      work();
    } catch (const std::exception& error) {
      LOG(ERROR) << "stream " << context_.id << ": " << FirstLine(error.what());
      services().metrics->CountError(ErrorCode::kInternal);
      End();
    }
  }

  void OnAccept(const ErrorOfSystem& error) {
    if (error == beast::error::timeout) {
      services().metrics->CountRejection(Rejection::kWebSocketHandshake);
    }
    if (error) return End();
    is_open_ = true;
    Pump();
  }

  // Whatever happened: takes results, sends, reads, closes, as far as each can be done now.
  void Pump() {
    if (!is_open_ || is_closing_) return;
    live_->Advance();
    if (!is_writing_) Write();
    if (is_closing_) return;
    if (!is_reading_ && live_->CanReceive()) Read();
    if (is_reading_ != has_idle_timeout_) SetTimeouts(is_reading_);
    ArmTimer();
  }

  void Drain() {
    live_->Drain();
    Pump();
  }

  void Read() {
    is_reading_ = true;
    if (!has_idle_timeout_) SetTimeouts(/*idle=*/true);
    const size_t room = services().limits.max_message_bytes + 1 - buffer_.size();
    const size_t size = std::clamp(buffer_.size(), kFirstRead, kLargestRead);
    ws_.async_read_some(buffer_.prepare(std::min(room, size)),
                        [self = shared_from_this()](ErrorOfSystem error, size_t count) {
                          self->Guard([&] { self->OnRead(error, count); });
                        });
  }

  void OnRead(const ErrorOfSystem& error, size_t count) {
    is_reading_ = false;
    // Not even pings are answered; who is silent otherwise, the live session counts.
    if (error == beast::error::timeout && !is_closing_) {
      services().metrics->CountRejection(Rejection::kIdle);
    }
    if (error) return End();
    if (is_closing_) return;
    buffer_.commit(count);
    if (buffer_.size() > services().limits.max_message_bytes) {
      services().metrics->CountRejection(Rejection::kMessageTooLarge);
      live_->Fail(ErrorCode::kMessageTooLarge,
                  "a message is longer than " +
                      std::to_string(services().limits.max_message_bytes) + " bytes");
      DropBuffer();
    } else if (!ws_.is_message_done()) {
      return Read();
    } else {
      const auto bytes = buffer_.cdata();
      live_->Receive({ws_.got_text(), {static_cast<const char*>(bytes.data()), bytes.size()}});
      DropBuffer();
    }
    Pump();
  }

  void DropBuffer() {
    buffer_.consume(buffer_.size());
    if (buffer_.capacity() > kLargestRead) buffer_.shrink_to_fit();
  }

  void Write() {
    std::optional<OutgoingMessage> message = live_->TakeMessage();
    if (!message.has_value()) {
      if (const std::optional<int> code = live_->close_code()) Close(*code);
      return;
    }
    is_writing_ = true;
    sending_ = std::move(*message);
    write_deadline_ = Clock::now() + Seconds(services().limits.send_timeout_s);
    ws_.text(true);
    ws_.async_write(net::buffer(sending_.text),
                    [self = shared_from_this()](ErrorOfSystem error, size_t /*count*/) {
                      self->Guard([&] { self->OnWrite(error); });
                    });
  }

  void OnWrite(const ErrorOfSystem& error) {
    is_writing_ = false;
    if (error) return End();
    live_->OnSent(sending_);
    Pump();
  }

  void Close(int code) {
    is_closing_ = true;
    timer_.cancel();
    // A client that is still sending is read to its end, as long as handshake_timeout.
    ws_.async_close(static_cast<websocket::close_code>(code),
                    [self = shared_from_this()](ErrorOfSystem /*error*/) { self->End(); });
  }

  void ArmTimer() {
    Clock::time_point deadline = live_->NextDeadline();
    if (is_writing_) deadline = std::min(deadline, write_deadline_);
    // One that is armed for earlier looks again then.
    if (deadline >= armed_for_) return;
    armed_for_ = deadline;
    timer_.expires_at(deadline);
    timer_.async_wait([weak = weak_from_this()](ErrorOfSystem error) {
      const auto self = weak.lock();
      if (error || self == nullptr) return;
      self->armed_for_ = Clock::time_point::max();
      self->Guard([&] { self->OnTimer(); });
    });
  }

  void OnTimer() {
    if (is_writing_ && Clock::now() >= write_deadline_) {
      services().metrics->CountRejection(Rejection::kSlowReader);
      LOG(INFO) << "stream " << context_.id << ": the client does not read";
      return End();
    }
    Pump();
  }

  // The connection is gone, or is now.
  void End() {
    is_open_ = false;
    is_closing_ = true;
    timer_.cancel();
    live_->Disconnect();
    registration_.reset();
    stream_ticket_.reset();
    ws_.next_layer().Close();
  }

  websocket::stream<AnyStream, /*deflateSupported=*/false> ws_;
  net::steady_timer timer_;
  ConnectionContext context_;
  Ticket stream_ticket_;
  SessionRegistry::Handle registration_;
  std::shared_ptr<LiveSession> live_;
  beast::flat_buffer buffer_;
  OutgoingMessage sending_;
  Clock::time_point write_deadline_;
  Clock::time_point armed_for_ = Clock::time_point::max();
  bool is_open_ = false;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_closing_ = false;
  bool has_idle_timeout_ = true;
};

}  // namespace

void ServeWebSocket(AnyStream stream, ConnectionContext context, Ticket stream_ticket,
                    const http::request<http::empty_body>& request) {
  std::make_shared<WebSocketSession>(std::move(stream), std::move(context),
                                     std::move(stream_ticket))
      ->Start(request);
}

}  // namespace runnel::server
