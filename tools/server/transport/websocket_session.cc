#include "tools/server/transport/websocket_session.h"

#include <glog/logging.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/text/first_line.h"
#include "tools/cli/seconds.h"
#include "tools/server/session/live_session.h"
#include "tools/server/transport/wake_timer.h"

namespace runnel::server {
namespace {

namespace http = beast::http;
namespace websocket = beast::websocket;
using Clock = std::chrono::steady_clock;

// The bytes of one read: enough for a packet of audio, and more for a large message. Between
// messages the buffer keeps at most kLargestRead.
constexpr size_t kFirstRead = 8192;
constexpr size_t kLargestRead = 65536;

// Held by the registry until it ends, because no operation may be under way while it does not read.
// All members on the stream's strand.
class WebSocketSession : public std::enable_shared_from_this<WebSocketSession> {
 public:
  WebSocketSession(AnyStream stream, ConnectionContext context, Ticket stream_ticket)
      : ws_(std::move(stream)),
        timer_(ws_.get_executor()),
        context_(std::move(context)),
        stream_ticket_(std::move(stream_ticket)) {}

  void Start(const http::request<http::empty_body>& request, std::shared_ptr<Protocol> protocol) {
    const auto weak = weak_from_this();
    timer_.SetHandler(weak, [this] { Guard([this] { OnTimer(); }); });
    const auto executor = ws_.get_executor();
    const auto post = [weak, executor](void (WebSocketSession::*what)()) {
      net::post(executor, [weak, what] {
        if (const auto self = weak.lock()) self->Guard([&] { (self.get()->*what)(); });
      });
    };
    if (protocol != nullptr) {
      ws_.set_option(
          websocket::stream_base::decorator([protocol](websocket::response_type& answer) {
            const std::string subprotocol = protocol->subprotocol();
            if (!subprotocol.empty()) answer.set(http::field::sec_websocket_protocol, subprotocol);
            for (const auto& [name, value] : protocol->headers()) answer.set(name, value);
          }));
    }
    live_ = std::make_shared<LiveSession>(services(), context_.id, std::move(protocol),
                                          [post] { post(&WebSocketSession::Pump); });
    registration_ = context_.shared->registry->Add(
        [self = shared_from_this(), post] { post(&WebSocketSession::Drain); });
    // Called by reads, on the strand. A client that is there answers the pings of SetTimeouts.
    ws_.control_callback([this](websocket::frame_type kind, beast::string_view /*payload*/) {
      if (kind != websocket::frame_type::close) live_->OnPing();
    });
    ws_.auto_fragment(false);
    ws_.read_message_max(0);  // OnRead checks the size and tells the client
    SetTimeouts(/*idle=*/true);
    ws_.async_accept(request, [self = shared_from_this()](SystemError error) {
      self->Guard([&] { self->OnAccept(error); });
    });
  }

 private:
  enum class Phase {
    kOpening,  // the upgrade is being answered
    kOpen,
    kClosing  // the closing handshake is under way, or the connection is closed
  };

  const Services& services() const { return *context_.shared->services; }

  // Beast sends pings and ends the connection when no reply comes. Replies are only seen while we
  // read, so the idle timeout is off otherwise.
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

  // An exception in a handler ends this connection only.
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

  void OnAccept(const SystemError& error) {
    if (error == beast::error::timeout) {
      services().metrics->CountRejection(Rejection::kWebSocketHandshake);
    }
    if (error) return End();
    phase_ = Phase::kOpen;
    Pump();
  }

  // Takes results, sends, reads and closes, as far as each is possible now. Called after every
  // event.
  void Pump() {
    if (phase_ != Phase::kOpen) return;
    live_->Advance();
    if (!sending_.has_value()) Write();
    if (phase_ != Phase::kOpen) return;
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
    const size_t room = live_->max_message_bytes() + 1 - buffer_.size();
    const size_t size = std::clamp(buffer_.size(), kFirstRead, kLargestRead);
    ws_.async_read_some(buffer_.prepare(std::min(room, size)),
                        [self = shared_from_this()](SystemError error, size_t count) {
                          self->Guard([&] { self->OnRead(error, count); });
                        });
  }

  void OnRead(const SystemError& error, size_t count) {
    is_reading_ = false;
    // The client does not even reply to pings. LiveSession has the timeout for clients that do.
    if (error == beast::error::timeout && phase_ == Phase::kOpen) {
      services().metrics->CountRejection(Rejection::kIdle);
    }
    if (error) return End();
    if (phase_ != Phase::kOpen) return;
    buffer_.commit(count);
    if (buffer_.size() > live_->max_message_bytes()) {
      services().metrics->CountRejection(Rejection::kMessageTooLarge);
      live_->Fail(
          ErrorCode::kMessageTooLarge,
          "a message is longer than " + std::to_string(live_->max_message_bytes()) + " bytes");
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
    sending_ = live_->TakeMessage();
    if (!sending_.has_value()) {
      if (const std::optional<Closing> closing = live_->closing()) Close(*closing);
      return;
    }
    write_deadline_ = Clock::now() + Seconds(services().limits.send_timeout_s);
    ws_.text(true);
    ws_.async_write(net::buffer(sending_->text),
                    [self = shared_from_this()](SystemError error, size_t /*count*/) {
                      self->Guard([&] { self->OnWrite(error); });
                    });
  }

  void OnWrite(const SystemError& error) {
    const OutgoingMessage sent = *std::exchange(sending_, std::nullopt);
    if (error) return End();
    live_->OnSent(sent);
    Pump();
  }

  void Close(const Closing& closing) {
    phase_ = Phase::kClosing;
    timer_.Cancel();
    // Reads on until the client closes too, for handshake_timeout at most.
    ws_.async_close({static_cast<websocket::close_code>(closing.code), closing.reason},
                    [self = shared_from_this()](SystemError /*error*/) { self->End(); });
  }

  void ArmTimer() {
    Clock::time_point deadline = live_->NextDeadline();
    if (sending_.has_value()) deadline = std::min(deadline, write_deadline_);
    timer_.WakeBy(deadline);
  }

  void OnTimer() {
    if (sending_.has_value() && Clock::now() >= write_deadline_) {
      services().metrics->CountRejection(Rejection::kSlowReader);
      LOG(INFO) << "stream " << context_.id << ": the client does not read";
      return End();
    }
    Pump();
  }

  // The connection is lost, or is closed now.
  void End() {
    phase_ = Phase::kClosing;
    timer_.Cancel();
    live_->Disconnect();
    registration_.reset();
    stream_ticket_.reset();
    ws_.next_layer().Close();
  }

  websocket::stream<AnyStream, /*deflateSupported=*/false> ws_;
  WakeTimer timer_;
  ConnectionContext context_;
  Ticket stream_ticket_;
  SessionRegistry::Handle registration_;
  std::shared_ptr<LiveSession> live_;
  beast::flat_buffer buffer_;
  std::optional<OutgoingMessage> sending_;  // is being written
  Clock::time_point write_deadline_;
  Phase phase_ = Phase::kOpening;
  bool is_reading_ = false;  // a read is under way
  bool has_idle_timeout_ = true;
};

}  // namespace

void ServeWebSocket(AnyStream stream, ConnectionContext context, Ticket stream_ticket,
                    const http::request<http::empty_body>& request,
                    std::shared_ptr<Protocol> protocol) {
  std::make_shared<WebSocketSession>(std::move(stream), std::move(context),
                                     std::move(stream_ticket))
      ->Start(request, std::move(protocol));
}

}  // namespace runnel::server
