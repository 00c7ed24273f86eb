#include "tools/server/transport/websocket_session.h"

#include <algorithm>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "tools/cli/seconds.h"
#include "tools/server/resources/message_buffer.h"
#include "tools/server/session/live_connection.h"
#include "tools/server/transport/wake_timer.h"

namespace runnel::server {
namespace {

namespace http = beast::http;
namespace websocket = beast::websocket;

// The bytes of one read: enough for a packet of audio, and more for a large message. Between
// messages the buffer keeps at most MessageBuffer::kFreeBytes.
constexpr size_t kFirstRead = 8192;
constexpr size_t kLargestRead = 65536;

// Between two looks at a client that is not read from.
constexpr std::chrono::seconds kClientWatchStep{1};

// All members on the stream's strand.
class WebSocketSession : public LiveTransport,
                         public std::enable_shared_from_this<WebSocketSession> {
 public:
  WebSocketSession(AnyStream stream, ConnectionContext context)
      : ws_(std::move(stream)),
        timer_(ws_.get_executor()),
        context_(std::move(context)),
        live_(this, services(), context_.client(), "connection"),
        buffer_(live_.NewBuffer()) {}

  void Start(const http::request<http::empty_body>& request, std::shared_ptr<Protocol> protocol,
             Ticket stream_ticket) {
    timer_.SetHandler(weak_from_this(), [this] { live_.Guard([this] { OnTimer(); }); });
    if (protocol != nullptr) {
      ws_.set_option(
          websocket::stream_base::decorator([protocol](websocket::response_type& answer) {
            const std::string subprotocol = protocol->subprotocol();
            if (!subprotocol.empty()) answer.set(http::field::sec_websocket_protocol, subprotocol);
            for (const auto& [name, value] : protocol->headers()) answer.set(name, value);
          }));
    }
    live_.Start(shared_from_this(), StrandExecutor(ws_.get_executor()), context_.shared->registry,
                std::move(context_.ticket));
    live_.BeginSession(std::move(protocol));
    live_.HoldStreamSlot(std::move(stream_ticket));
    // Called by reads, on the strand. A client that is there answers the pings of SetTimeouts.
    ws_.control_callback([this](websocket::frame_type kind, beast::string_view /*payload*/) {
      if (kind != websocket::frame_type::close) live_.session().OnPing();
    });
    ws_.auto_fragment(false);
    ws_.next_layer().OnEnd([this] { return OnClientEnd(); });
    ws_.read_message_max(0);  // OnRead checks the size and tells the client
    SetTimeouts(/*idle=*/true);
    ws_.async_accept(request, [self = shared_from_this()](SystemError error) {
      self->live_.Guard([&] { self->OnAccept(error); });
    });
  }

 private:
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

  void OnAccept(const SystemError& error) {
    if (error == beast::error::timeout) {
      services().metrics->CountRejection(Rejection::kWebSocketHandshake);
    }
    if (error) return Disconnect();
    live_.Open();
  }

  void Read() override {
    if (!is_reading_) ReadPart();
  }

  void ReadPart() {
    const size_t num_bytes = buffer_.bytes().size();
    const size_t room = live_.session().max_message_bytes() + 1 - num_bytes;
    const size_t size = std::min(room, std::clamp(num_bytes, kFirstRead, kLargestRead));
    if (!live_.Reserve(&buffer_, size)) return;
    is_reading_ = true;
    if (!has_idle_timeout_) SetTimeouts(/*idle=*/true);
    ws_.async_read_some(net::buffer(buffer_.end(), size),
                        [self = shared_from_this()](SystemError error, size_t count) {
                          self->live_.Guard([&] { self->OnRead(error, count); });
                        });
  }

  // The client has closed its sending side. Beast would fail the WebSocket, so one that waits for
  // text is spared the end of the read until everything was sent.
  bool OnClientEnd() {
    has_client_ended_ = !live_.is_open() || live_.session().EndInput();
    if (!has_client_ended_ || !live_.is_open()) return false;
    SetTimeouts(/*idle=*/false);
    return true;
  }

  void OnRead(const SystemError& error, size_t count) {
    is_reading_ = false;
    if (has_client_ended_) return;  // Disconnect comes when the close frame was sent
    // The client does not even reply to pings. LiveSession has the timeout for clients that do.
    if (error == beast::error::timeout && live_.is_open()) {
      services().metrics->CountRejection(Rejection::kIdle);
    }
    if (error) return Disconnect();
    if (!live_.is_open()) return;
    buffer_.Commit(count);
    if (!live_.CheckSize(buffer_.bytes().size())) {
      buffer_.Clear();
    } else if (ws_.is_message_done()) {
      live_.Receive(ws_.got_text(), &buffer_);
    } else {
      ReadPart();
      if (is_reading_) return;
    }
    live_.Pump();
  }

  void Write(const std::string& message) override {
    ws_.text(true);
    ws_.async_write(net::buffer(message),
                    [self = shared_from_this()](SystemError error, size_t /*count*/) {
                      self->live_.Guard([&] { self->OnWritten(error); });
                    });
  }

  void OnWritten(const SystemError& error) {
    if (error) return Disconnect();
    live_.OnWritten();
  }

  void Ping() override {
    if (std::exchange(is_pinging_, true)) return;
    ws_.async_ping({}, [self = shared_from_this()](SystemError error) {
      self->is_pinging_ = false;
      if (error && self->live_.is_open()) self->live_.Guard([&] { self->Disconnect(); });
    });
  }

  bool IsWatching() const override { return is_reading_ && !has_client_ended_; }

  void WaitUntil(Clock::time_point deadline) override {
    if (IsWatching() != has_idle_timeout_) SetTimeouts(IsWatching());
    if (!IsWatching()) deadline = std::min(deadline, Clock::now() + kClientWatchStep);
    timer_.WakeBy(deadline);
  }

  void OnTimer() {
    // No read tells it while none is under way.
    if (!IsWatching() && live_.is_open() && ws_.next_layer().IsLost()) return Disconnect();
    live_.OnTimer();
  }

  void Close(const Closing& closing) override {
    timer_.Cancel();
    // Reads on until the client closes too, for handshake_timeout at most.
    ws_.async_close({static_cast<websocket::close_code>(closing.code), closing.reason},
                    [self = shared_from_this()](SystemError /*error*/) {
                      self->live_.Guard([&] { self->Disconnect(); });
                    });
    ws_.next_layer().EndRead();
  }

  void Disconnect() override {
    timer_.Cancel();
    live_.OnDisconnect();
    ws_.next_layer().Close();
  }

  websocket::stream<AnyStream, /*deflateSupported=*/false> ws_;
  WakeTimer timer_;
  ConnectionContext context_;
  LiveConnection live_;
  MessageBuffer buffer_;
  bool is_reading_ = false;        // a read is under way
  bool has_client_ended_ = false;  // the client sends nothing more, and waits for text
  bool is_pinging_ = false;
  bool has_idle_timeout_ = true;
};

}  // namespace

void ServeWebSocket(AnyStream stream, ConnectionContext context, Ticket stream_ticket,
                    const http::request<http::empty_body>& request,
                    std::shared_ptr<Protocol> protocol) {
  std::make_shared<WebSocketSession>(std::move(stream), std::move(context))
      ->Start(request, std::move(protocol), std::move(stream_ticket));
}

}  // namespace runnel::server
