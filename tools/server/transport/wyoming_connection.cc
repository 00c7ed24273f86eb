#include "tools/server/transport/wyoming_connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "tools/cli/decimal.h"
#include "tools/json/json_text.h"
#include "tools/server/dialects/wyoming_event.h"
#include "tools/server/dialects/wyoming_protocol.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/resources/admission.h"
#include "tools/server/resources/message_buffer.h"
#include "tools/server/session/live_connection.h"
#include "tools/server/session/session_deadlines.h"
#include "tools/server/transport/wake_timer.h"

namespace runnel::server {
namespace {

constexpr int kSessionClosed = 1000;         // of a LiveSession that ended without an error
constexpr size_t kLargestEventRead = 65536;  // of a large event
// After the last event: time for the client to read it and to close.
constexpr std::chrono::milliseconds kEventLingerTime{2000};
// Connections above a limit get less time, so that others can be refused too.
constexpr std::chrono::milliseconds kRefusedEventLingerTime{200};

// All members on the stream's strand.
class WyomingConnection : public LiveTransport,
                          public std::enable_shared_from_this<WyomingConnection> {
 public:
  WyomingConnection(AnyStream stream, ConnectionContext context, std::string info)
      : stream_(std::move(stream)),
        timer_(stream_.get_executor()),
        context_(std::move(context)),
        info_(std::move(info)),
        live_(this, services(), context_.client(), "connection"),
        event_(live_.NewBuffer()) {}

  void Start() {
    timer_.SetHandler(weak_from_this(), [this] { live_.Guard([this] { OnTimer(); }); });
    live_.Guard([this] {
      live_.Start(shared_from_this(), StrandExecutor(stream_.get_executor()),
                  context_.shared->registry, std::move(context_.ticket));
      WatchForLoss();
      BeginUtterance();
      if (context_.refusal != Refusal::kNone) Refuse(context_.refusal);
      live_.Open();
    });
  }

 private:
  const Services& services() const { return *context_.shared->services; }

  // Notices a client that has gone while nothing is read from it.
  void WatchForLoss() {
    stream_.async_wait_for_loss([self = shared_from_this()](SystemError error) {
      if (error || !self->live_.is_open()) return;
      self->live_.Guard([&] { self->Disconnect(); });
    });
  }

  void BeginUtterance() {
    before_start_.emplace(services().limits, Clock::now());
    live_.BeginSession(std::make_shared<WyomingProtocol>(info_));
  }

  void Refuse(Refusal refusal) {
    const ProtocolError error = RefusalError(refusal, services().metrics);
    live_.session().Fail(error.code, error.message);
  }

  // Passes on the events that have arrived, and reads the next one.
  void Read() override {
    while (TakesEvents() && ReadFrame() && IsWhole()) {
      if (frame_->type == WyomingProtocol::kStart && !TakeSlot()) return;
      frame_.reset();
      live_.Receive(/*is_text=*/false, &event_);
    }
    if (TakesEvents() && !is_reading_ && !has_client_ended_) ReadMore();
  }

  // Events after an audio-stop are of the next utterance, or wait for it.
  bool TakesEvents() const {
    return live_.session().CanReceive() && !live_.session().is_finishing();
  }

  // False when the line of the next event has not come, or is wrong.
  bool ReadFrame() {
    if (frame_.has_value()) return true;
    const auto data = start_.cdata();
    const std::string_view bytes(static_cast<const char*>(data.data()), data.size());
    try {
      frame_ = ReadWyomingFrame(bytes, static_cast<size_t>(services().limits.max_message_bytes));
    } catch (const ClientMistake& mistake) {
      if (mistake.code() == ErrorCode::kMessageTooLarge) {
        services().metrics->CountRejection(Rejection::kMessageTooLarge);
      }
      live_.session().Fail(mistake.code(), mistake.what());
    }
    return frame_.has_value();
  }

  // Whether all bytes of the event are there. Those that came with its line, which are few enough
  // to have room in every budget, are put with the others.
  bool IsWhole() {
    const size_t count = std::min(start_.size(), frame_->size - event_.bytes().size());
    if (count > 0 && event_.Reserve(count)) {
      net::buffer_copy(net::buffer(event_.end(), count), start_.cdata());
      event_.Commit(count);
      start_.consume(count);
    }
    return event_.bytes().size() == frame_->size;
  }

  // False when the utterance was refused its slot.
  bool TakeSlot() {
    if (live_.has_stream_slot()) return true;  // a second audio-start, which is an error
    Refusal refusal = Refusal::kNone;
    Ticket slot = services().admission->AdmitStream(context_.client().account, &refusal);
    before_start_.reset();
    if (slot == nullptr) {
      Refuse(refusal);
      return false;
    }
    live_.HoldStreamSlot(std::move(slot));
    return true;
  }

  // Of the next event: first its line, then what follows.
  void ReadMore() {
    if (!frame_.has_value()) {
      return ReadInto(start_.prepare(kMaxWyomingLineBytes + 1 - start_.size()));
    }
    const size_t size = std::min(kLargestEventRead, frame_->size - event_.bytes().size());
    if (live_.Reserve(&event_, size)) ReadInto(net::buffer(event_.end(), size));
  }

  void ReadInto(net::mutable_buffer place) {
    is_reading_ = true;
    stream_.async_read_some(place, [self = shared_from_this()](SystemError error, size_t count) {
      self->live_.Guard([&] { self->OnRead(error, count); });
    });
  }

  void OnRead(const SystemError& error, size_t count) {
    is_reading_ = false;
    if (linger_deadline_.has_value() && !error) return Discard();
    if (error && (error != net::error::eof || !live_.is_open())) return Disconnect();
    has_client_ended_ = error == net::error::eof;
    if (frame_.has_value()) {
      event_.Commit(count);
    } else {
      start_.commit(count);
    }
    live_.Pump();
  }

  void Write(const std::string& message) override {
    net::async_write(stream_, net::buffer(message),
                     [self = shared_from_this()](SystemError error, size_t /*count*/) {
                       self->live_.Guard([&] { self->OnWritten(error); });
                     });
  }

  void OnWritten(const SystemError& error) {
    if (error) return Disconnect();
    live_.OnWritten();
  }

  // Clients pass over the event, as over all that they do not wait for.
  void Ping() override { live_.Send(WyomingText("ping", OrderedJson::object())); }

  bool IsWatching() const override { return is_reading_; }

  void WaitUntil(Clock::time_point deadline) override {
    // In the middle of an utterance, or between two.
    if (has_client_ended_ && !live_.is_sending()) return Disconnect();
    if (before_start_.has_value()) {
      deadline = std::min(deadline, before_start_->Next(/*is_idle_suspended=*/false));
    }
    timer_.WakeBy(deadline);
  }

  void OnTimer() {
    if (!linger_deadline_.has_value()) {
      CheckStart();
      return live_.OnTimer();
    }
    if (Clock::now() >= *linger_deadline_) return Disconnect();
    timer_.WakeBy(*linger_deadline_);
  }

  // Events that only ask something of the server do not keep a connection without an utterance.
  void CheckStart() {
    if (!before_start_.has_value()) return;
    if (before_start_->Check(/*is_idle_suspended=*/false, Clock::now()) != Deadline::kIdle) return;
    before_start_.reset();
    services().metrics->CountRejection(Rejection::kIdle);
    live_.session().Fail(
        ErrorCode::kIdleTimeout,
        "no audio-start for " + Decimal(services().limits.idle_timeout_s, 1) + " s");
  }

  // After an utterance comes the next one, after an error the end.
  void Close(const Closing& closing) override {
    if (closing.code != kSessionClosed) return Linger();
    BeginUtterance();
    live_.Open();
  }

  // A socket that is closed with unread bytes may lose the event that was sent last.
  void Linger() {
    live_.ReleaseStreamSlot();
    SystemError ignored;
    stream_.tcp().socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
    if (has_client_ended_) return Disconnect();
    const bool is_refused = context_.refusal != Refusal::kNone;
    linger_deadline_ = Clock::now() + (is_refused ? kRefusedEventLingerTime : kEventLingerTime);
    timer_.WakeBy(*linger_deadline_);
    if (!is_reading_) Discard();
  }

  void Discard() {
    frame_.reset();
    event_.Clear();
    start_.clear();
    ReadMore();
  }

  void Disconnect() override {
    timer_.Cancel();
    live_.OnDisconnect();
    stream_.Close();
  }

  AnyStream stream_;
  WakeTimer timer_;
  ConnectionContext context_;
  const std::string info_;
  LiveConnection live_;                           // its session: of the present utterance
  std::optional<SessionDeadlines> before_start_;  // until the audio-start
  beast::flat_buffer start_;           // the line of the next event, and what came with it
  std::optional<WyomingFrame> frame_;  // the next event, whose bytes are still to come
  MessageBuffer event_;                // those of its bytes that have come
  // Set after the last event: what the client still sends is dropped.
  std::optional<Clock::time_point> linger_deadline_;
  bool is_reading_ = false;        // a read is under way
  bool has_client_ended_ = false;  // the client has closed its sending side
};

}  // namespace

void ServeWyoming(AnyStream stream, ConnectionContext context, const std::string& info) {
  std::make_shared<WyomingConnection>(std::move(stream), std::move(context), info)->Start();
}

}  // namespace runnel::server
