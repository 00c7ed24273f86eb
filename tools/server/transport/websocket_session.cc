#include "tools/server/transport/websocket_session.h"

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/cli/seconds.h"
#include "tools/server/resources/idle_slots.h"
#include "tools/server/resources/message_buffer.h"
#include "tools/server/resources/rated_log.h"
#include "tools/server/session/live_session.h"
#include "tools/server/transport/wake_timer.h"

namespace runnel::server {
namespace {

namespace http = beast::http;
namespace websocket = beast::websocket;
using Clock = std::chrono::steady_clock;

// The bytes of one read: enough for a packet of audio, and more for a large message. Between
// messages the buffer keeps at most MessageBuffer::kFreeBytes.
constexpr size_t kFirstRead = 8192;
constexpr size_t kLargestRead = 65536;

// Between two looks at a client that is not read from.
constexpr std::chrono::seconds kClientWatchStep{1};

// Held by the registry until it ends, because no operation may be under way while it does not read.
// All members on the stream's strand.
class WebSocketSession : public std::enable_shared_from_this<WebSocketSession> {
 public:
  WebSocketSession(AnyStream stream, ConnectionContext context, Ticket stream_ticket)
      : ws_(std::move(stream)),
        timer_(ws_.get_executor()),
        context_(std::move(context)),
        slots_(std::move(context_.ticket), std::move(stream_ticket)),
        buffer_(NewBuffer()) {}

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
    live_ = std::make_shared<LiveSession>(services(), context_.client(), std::move(protocol),
                                          [post] { post(&WebSocketSession::Pump); });
    live_->OnSlot();
    slots_.SetHandler([post] { post(&WebSocketSession::GiveUp); });
    slots_.Update(live_->awaits_client(), live_->last_progress());
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

  MessageBuffer NewBuffer() const { return {services().input_budget, context_.client().account}; }

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
      LogRated(LogLevel::kError, "connection failed", context_.id + ": " + error.what());
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
    if (phase_ != Phase::kOpen) return;
    if (is_reading_ != has_idle_timeout_) SetTimeouts(is_reading_);
    slots_.Update(live_->awaits_client(), live_->last_progress());
    pings_.Update(is_reading_);
    ArmTimer();
  }

  // The slots of this stream are another's now.
  void GiveUp() {
    slots_.Release();
    services().metrics->CountRejection(Rejection::kIdle);
    live_->Fail(ErrorCode::kIdleTimeout, kGivenUp);
    Pump();
  }

  void Drain() {
    live_->Drain();
    Pump();
  }

  void Read() {
    const size_t num_bytes = buffer_.bytes().size();
    const size_t room = live_->max_message_bytes() + 1 - num_bytes;
    const size_t size = std::min(room, std::clamp(num_bytes, kFirstRead, kLargestRead));
    if (!buffer_.Reserve(size)) return WaitForBudget();
    budget_wait_.End();
    is_reading_ = true;
    if (!has_idle_timeout_) SetTimeouts(/*idle=*/true);
    ws_.async_read_some(net::buffer(buffer_.end(), size),
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
    buffer_.Commit(count);
    const size_t num_bytes = buffer_.bytes().size();
    if (num_bytes > live_->max_message_bytes()) {
      services().metrics->CountRejection(Rejection::kMessageTooLarge);
      live_->Fail(
          ErrorCode::kMessageTooLarge,
          "a message is longer than " + std::to_string(live_->max_message_bytes()) + " bytes");
      buffer_.Clear();
    } else if (!ws_.is_message_done()) {
      Read();
      if (is_reading_) return;
    } else if (num_bytes > MessageBuffer::kFreeBytes) {
      live_->Receive({ws_.got_text(), std::exchange(buffer_, NewBuffer())});
    } else {
      live_->Receive({ws_.got_text(), buffer_.bytes()});
      buffer_.Clear();
    }
    Pump();
  }

  // Called again and again.
  void WaitForBudget() {
    if (budget_wait_.Continue(services().metrics)) return;
    live_->Fail(ErrorCode::kFull, kInputFull);
    buffer_.Clear();
    if (!sending_.has_value()) Write();
  }

  // Whether the client has gone, which no read tells while none is under way.
  bool HasVanished() { return !is_reading_ && ws_.next_layer().IsPeerGone(); }

  void Ping() {
    if (is_pinging_ || !pings_.Take()) return;
    is_pinging_ = true;
    ws_.async_ping({}, [self = shared_from_this()](SystemError error) {
      self->is_pinging_ = false;
      if (error && self->phase_ == Phase::kOpen) self->Guard([&] { self->End(); });
    });
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
    if (!is_reading_) deadline = std::min(deadline, Clock::now() + kClientWatchStep);
    timer_.WakeBy(std::min(deadline, budget_wait_.Next()));
  }

  void OnTimer() {
    if (sending_.has_value() && Clock::now() >= write_deadline_) {
      services().metrics->CountRejection(Rejection::kSlowReader);
      LogRated(LogLevel::kInfo, "connection ended", context_.id + ": the client does not read");
      return End();
    }
    if (phase_ == Phase::kOpen && HasVanished()) return End();
    Pump();
    if (phase_ == Phase::kOpen) Ping();
  }

  // The connection is lost, or is closed now.
  void End() {
    phase_ = Phase::kClosing;
    timer_.Cancel();
    live_->Disconnect();
    registration_.reset();
    slots_.Release();
    ws_.next_layer().Close();
  }

  websocket::stream<AnyStream, /*deflateSupported=*/false> ws_;
  WakeTimer timer_;
  ConnectionContext context_;
  IdleSlots slots_;
  SessionRegistry::Handle registration_;
  std::shared_ptr<LiveSession> live_;
  MessageBuffer buffer_;
  std::optional<OutgoingMessage> sending_;  // is being written
  Clock::time_point write_deadline_;
  Phase phase_ = Phase::kOpening;
  bool is_reading_ = false;  // a read is under way
  PingTimes pings_;
  bool is_pinging_ = false;
  BudgetWait budget_wait_;
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
