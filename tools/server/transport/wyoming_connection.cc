#include "tools/server/transport/wyoming_connection.h"

#include <glog/logging.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/text/first_line.h"
#include "tools/cli/seconds.h"
#include "tools/server/dialects/wyoming_event.h"
#include "tools/server/dialects/wyoming_protocol.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/resources/refusal.h"
#include "tools/server/session/live_session.h"
#include "tools/server/transport/wake_timer.h"

namespace runnel::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kNormalClose = 1000;  // of a LiveSession that ended without an error
constexpr size_t kReadBytes = 16384;
constexpr size_t kMostKeptBytes = 65536;  // capacity of the buffer between two events
// After the last event: time for the client to read it and to close.
constexpr std::chrono::seconds kLingerTime{2};
// Connections above a limit get less time, so that others can be refused too.
constexpr std::chrono::milliseconds kRefusedLingerTime{200};

// Held by the registry until it ends, because no operation may be under way while it does not read.
// All members on the stream's strand.
class WyomingConnection : public std::enable_shared_from_this<WyomingConnection> {
 public:
  WyomingConnection(AnyStream stream, ConnectionContext context, std::string info)
      : stream_(std::move(stream)),
        timer_(stream_.get_executor()),
        context_(std::move(context)),
        info_(std::move(info)) {}

  void Start() {
    timer_.SetHandler(weak_from_this(), [this] { Guard([this] { OnTimer(); }); });
    registration_ = context_.shared->registry->Add(
        [self = shared_from_this(), drain = Posting(&WyomingConnection::Drain)] { drain(); });
    Guard([this] {
      BeginUtterance();
      if (context_.refusal != Refusal::kNone) Refuse(context_.refusal);
      Pump();
    });
  }

 private:
  enum class Phase {
    kOpen,
    kLingering,  // the last event was sent; what the client still sends is dropped
    kClosed
  };

  const Services& services() const { return *context_.shared->services; }

  std::function<void()> Posting(void (WyomingConnection::*what)()) {
    return [weak = weak_from_this(), executor = stream_.get_executor(), what] {
      net::post(executor, [weak, what] {
        if (const auto self = weak.lock()) self->Guard([&] { (self.get()->*what)(); });
      });
    };
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

  void BeginUtterance() {
    stream_ticket_.reset();
    live_ = std::make_shared<LiveSession>(services(), context_.id,
                                          std::make_shared<WyomingProtocol>(info_),
                                          Posting(&WyomingConnection::Pump));
  }

  void Refuse(Refusal refusal) {
    const ProtocolError error = RefusalError(refusal, services().metrics);
    live_->Fail(error.code, error.message);
  }

  // Takes results, receives, sends, reads and closes, as far as each is possible now. Called after
  // every event.
  void Pump() {
    if (phase_ != Phase::kOpen) return;
    live_->Advance();
    ReceiveAll();
    if (!sending_.has_value()) Write();
    if (phase_ != Phase::kOpen) return;
    if (!is_reading_ && !has_client_ended_ && TakesEvents()) Read();
    ArmTimer();
  }

  void Drain() {
    live_->Drain();
    Pump();
  }

  // Events after an audio-stop are of the next utterance, or wait for it.
  bool TakesEvents() const { return live_->CanReceive() && !live_->is_finishing(); }

  // Passes on the events that have arrived.
  void ReceiveAll() {
    while (TakesEvents()) {
      const auto data = buffer_.cdata();
      const std::string_view bytes(static_cast<const char*>(data.data()), data.size());
      if (!ReadFrame(bytes) || bytes.size() < frame_->size) return;
      const WyomingFrame frame = *std::exchange(frame_, std::nullopt);
      if (frame.type == WyomingProtocol::kStart && !TakeSlot()) return;
      live_->Receive({/*is_text=*/false, bytes.substr(0, frame.size)});
      buffer_.consume(frame.size);
    }
  }

  // False when the line of the next event has not come, or is wrong.
  bool ReadFrame(std::string_view bytes) {
    if (frame_.has_value()) return true;
    try {
      frame_ = ReadWyomingFrame(bytes, static_cast<size_t>(services().limits.max_message_bytes));
    } catch (const ClientMistake& mistake) {
      if (mistake.code() == ErrorCode::kMessageTooLarge) {
        services().metrics->CountRejection(Rejection::kMessageTooLarge);
      }
      live_->Fail(mistake.code(), mistake.what());
    }
    return frame_.has_value();
  }

  // False when the utterance was refused its slot.
  bool TakeSlot() {
    if (stream_ticket_ != nullptr) return true;  // a second audio-start, which is an error
    Refusal refusal = Refusal::kNone;
    stream_ticket_ = services().admission->AdmitStream(context_.address, &refusal);
    if (stream_ticket_ == nullptr) Refuse(refusal);
    return stream_ticket_ != nullptr;
  }

  void Read() {
    is_reading_ = true;
    if (buffer_.size() == 0 && buffer_.capacity() > kMostKeptBytes) buffer_.shrink_to_fit();
    stream_.async_read_some(buffer_.prepare(kReadBytes),
                            [self = shared_from_this()](SystemError error, size_t count) {
                              self->Guard([&] { self->OnRead(error, count); });
                            });
  }

  void OnRead(const SystemError& error, size_t count) {
    is_reading_ = false;
    if (phase_ == Phase::kLingering && !error) return Discard();
    if (error && (error != net::error::eof || phase_ != Phase::kOpen)) return End();
    has_client_ended_ = error == net::error::eof;
    buffer_.commit(count);
    Pump();
  }

  void Write() {
    sending_ = live_->TakeMessage();
    if (!sending_.has_value()) return OnAllSent();
    write_deadline_ = Clock::now() + Seconds(services().limits.send_timeout_s);
    net::async_write(stream_, net::buffer(sending_->text),
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

  void OnAllSent() {
    const std::optional<Closing> closing = live_->closing();
    if (!closing.has_value()) {
      if (has_client_ended_) End();  // in the middle of an utterance, or between two
      return;
    }
    if (closing->code != kNormalClose) return Linger();
    BeginUtterance();
    Pump();
  }

  // A socket that is closed with unread bytes may lose the event that was sent last.
  void Linger() {
    phase_ = Phase::kLingering;
    stream_ticket_.reset();
    SystemError ignored;
    stream_.tcp().socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
    if (has_client_ended_) return End();
    linger_deadline_ = Clock::now();
    linger_deadline_ += context_.refusal == Refusal::kNone ? kLingerTime : kRefusedLingerTime;
    timer_.WakeBy(linger_deadline_);
    if (!is_reading_) Discard();
  }

  void Discard() {
    buffer_.clear();
    Read();
  }

  void ArmTimer() {
    Clock::time_point deadline = live_->NextDeadline();
    if (sending_.has_value()) deadline = std::min(deadline, write_deadline_);
    timer_.WakeBy(deadline);
  }

  void OnTimer() {
    if (phase_ == Phase::kLingering) {
      if (Clock::now() >= linger_deadline_) return End();
      return timer_.WakeBy(linger_deadline_);
    }
    if (sending_.has_value() && Clock::now() >= write_deadline_) {
      services().metrics->CountRejection(Rejection::kSlowReader);
      LOG(INFO) << "stream " << context_.id << ": the client does not read";
      return End();
    }
    Pump();
  }

  // The connection is lost, or is closed now.
  void End() {
    phase_ = Phase::kClosed;
    timer_.Cancel();
    live_->Disconnect();
    registration_.reset();
    stream_ticket_.reset();
    stream_.Close();
  }

  AnyStream stream_;
  WakeTimer timer_;
  ConnectionContext context_;
  const std::string info_;
  SessionRegistry::Handle registration_;
  std::shared_ptr<LiveSession> live_;  // of the present utterance
  Ticket stream_ticket_;               // from its audio-start on
  beast::flat_buffer buffer_;
  std::optional<WyomingFrame> frame_;       // the next event, whose bytes are still to come
  std::optional<OutgoingMessage> sending_;  // is being written
  Clock::time_point write_deadline_;
  Clock::time_point linger_deadline_;
  Phase phase_ = Phase::kOpen;
  bool is_reading_ = false;        // a read is under way
  bool has_client_ended_ = false;  // the client has closed its sending side
};

}  // namespace

void ServeWyoming(AnyStream stream, ConnectionContext context, const std::string& info) {
  std::make_shared<WyomingConnection>(std::move(stream), std::move(context), info)->Start();
}

}  // namespace runnel::server
