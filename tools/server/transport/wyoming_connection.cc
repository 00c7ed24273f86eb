#include "tools/server/transport/wyoming_connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
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

#include "tools/cli/decimal.h"
#include "tools/cli/seconds.h"
#include "tools/json/json_text.h"
#include "tools/server/dialects/wyoming_event.h"
#include "tools/server/dialects/wyoming_protocol.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/resources/idle_slots.h"
#include "tools/server/resources/message_buffer.h"
#include "tools/server/resources/rated_log.h"
#include "tools/server/resources/refusal.h"
#include "tools/server/session/live_session.h"
#include "tools/server/session/session_deadlines.h"
#include "tools/server/transport/wake_timer.h"

namespace runnel::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSessionClosed = 1000;         // of a LiveSession that ended without an error
constexpr size_t kLargestEventRead = 65536;  // of a large event
// After the last event: time for the client to read it and to close.
constexpr std::chrono::seconds kEventLingerTime{2};
// Connections above a limit get less time, so that others can be refused too.
constexpr std::chrono::milliseconds kRefusedEventLingerTime{200};

// Held by the registry until it ends, because no operation may be under way while it does not read.
// All members on the stream's strand.
class WyomingConnection : public std::enable_shared_from_this<WyomingConnection> {
 public:
  WyomingConnection(AnyStream stream, ConnectionContext context, std::string info)
      : stream_(std::move(stream)),
        timer_(stream_.get_executor()),
        context_(std::move(context)),
        info_(std::move(info)),
        connection_slot_(context_.ticket, nullptr),
        event_(NewBuffer()) {}

  void Start() {
    timer_.SetHandler(weak_from_this(), [this] { Guard([this] { OnTimer(); }); });
    connection_slot_.SetHandler(Posting([this] { GiveUp(); }));
    registration_ = context_.shared->registry->Add(
        [self = shared_from_this(), drain = Posting([this] { Drain(); })] { drain(); });
    Guard([this] {
      WatchForLoss();
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

  MessageBuffer NewBuffer() const { return {services().input_budget, context_.client().account}; }

  // `what` of this connection, called on the strand while the connection exists.
  std::function<void()> Posting(std::function<void()> what) {
    return [weak = weak_from_this(), executor = stream_.get_executor(), what = std::move(what)] {
      net::post(executor, [weak, what] {
        if (const auto self = weak.lock()) self->Guard(what);
      });
    };
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

  // Notices a client that has gone while nothing is read from it.
  void WatchForLoss() {
    stream_.tcp().socket().async_wait(net::ip::tcp::socket::wait_error,
                                      [self = shared_from_this()](SystemError error) {
                                        if (!error && self->phase_ == Phase::kOpen)
                                          self->Guard([&] { self->End(); });
                                      });
  }

  void BeginUtterance() {
    SetStreamSlot(nullptr);
    before_start_.emplace(services().limits, Clock::now());
    live_ = std::make_shared<LiveSession>(services(), context_.client(),
                                          std::make_shared<WyomingProtocol>(info_),
                                          Posting([this] { Pump(); }));
  }

  // `slot`: of the utterance; null without one.
  void SetStreamSlot(Ticket slot) {
    has_stream_slot_ = slot != nullptr;
    stream_slot_.emplace(nullptr, std::move(slot));
  }

  // A slot is another's now: that of the connection, or that of the present utterance.
  void GiveUp() {
    if (phase_ != Phase::kOpen) return;
    connection_slot_.Release();
    SetStreamSlot(nullptr);
    services().metrics->CountRejection(Rejection::kIdle);
    live_->Fail(ErrorCode::kIdleTimeout, kGivenUp);
    Pump();
  }

  void Refuse(Refusal refusal) {
    const ProtocolError error = RefusalError(refusal, services().metrics);
    live_->Fail(error.code, error.message);
  }

  // Takes results, receives, sends, reads and closes, as far as each is possible now. Called after
  // every event.
  void Pump() {
    if (phase_ != Phase::kOpen) return;
    CheckStart();
    live_->Advance();
    const bool needs_bytes = ReceiveAll();
    if (!sending_.has_value()) Write();
    if (phase_ != Phase::kOpen) return;
    if (needs_bytes && !is_reading_ && !has_client_ended_) Read();
    if (phase_ != Phase::kOpen) return;
    connection_slot_.Update(live_->awaits_client(), live_->last_progress());
    stream_slot_->Update(live_->awaits_client(), live_->last_progress());
    pings_.Update(is_reading_);
    ArmTimer();
  }

  void Drain() {
    live_->Drain();
    Pump();
  }

  // Events after an audio-stop are of the next utterance, or wait for it.
  bool TakesEvents() const { return live_->CanReceive() && !live_->is_finishing(); }

  // Events that only ask something of the server do not keep a connection without an utterance.
  void CheckStart() {
    if (!before_start_.has_value()) return;
    if (before_start_->Check(/*is_idle_suspended=*/false, Clock::now()) != Deadline::kIdle) return;
    before_start_.reset();
    services().metrics->CountRejection(Rejection::kIdle);
    live_->Fail(ErrorCode::kIdleTimeout,
                "no audio-start for " + Decimal(services().limits.idle_timeout_s, 1) + " s");
  }

  // Passes on the events that have arrived. True when the next event needs further bytes.
  bool ReceiveAll() {
    while (TakesEvents()) {
      if (!ReadFrame() || !IsWhole()) return TakesEvents();
      if (frame_->type == WyomingProtocol::kStart && !TakeSlot()) return false;
      frame_.reset();
      if (event_.bytes().size() > MessageBuffer::kFreeBytes) {
        live_->Receive({/*is_text=*/false, std::exchange(event_, NewBuffer())});
      } else {
        live_->Receive({/*is_text=*/false, event_.bytes()});
        event_.Clear();
      }
    }
    return false;
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
      live_->Fail(mistake.code(), mistake.what());
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
    if (has_stream_slot_) return true;  // a second audio-start, which is an error
    Refusal refusal = Refusal::kNone;
    Ticket slot = services().admission->AdmitStream(context_.client().account, &refusal);
    before_start_.reset();
    if (slot == nullptr) {
      Refuse(refusal);
      return false;
    }
    SetStreamSlot(std::move(slot));
    // The next utterance may have begun when this is called, and has another slot.
    stream_slot_->SetHandler(Posting([this, utterance = std::weak_ptr<LiveSession>(live_)] {
      if (utterance.lock() == live_) GiveUp();
    }));
    live_->OnSlot();
    return true;
  }

  // Of the next event: first its line, then what follows.
  void Read() {
    if (!frame_.has_value()) {
      return ReadInto(start_.prepare(kMaxWyomingLineBytes + 1 - start_.size()));
    }
    const size_t size = std::min(kLargestEventRead, frame_->size - event_.bytes().size());
    if (!event_.Reserve(size)) return WaitForBudget();
    budget_wait_.End();
    ReadInto(net::buffer(event_.end(), size));
  }

  void ReadInto(net::mutable_buffer place) {
    is_reading_ = true;
    stream_.async_read_some(place, [self = shared_from_this()](SystemError error, size_t count) {
      self->Guard([&] { self->OnRead(error, count); });
    });
  }

  void OnRead(const SystemError& error, size_t count) {
    is_reading_ = false;
    if (phase_ == Phase::kLingering && !error) return Discard();
    if (error && (error != net::error::eof || phase_ != Phase::kOpen)) return End();
    has_client_ended_ = error == net::error::eof;
    if (frame_.has_value()) {
      event_.Commit(count);
    } else {
      start_.commit(count);
    }
    Pump();
  }

  // Called again and again.
  void WaitForBudget() {
    if (budget_wait_.Continue(services().metrics)) return;
    live_->Fail(ErrorCode::kFull, kInputFull);
    if (!sending_.has_value()) Write();
  }

  void Write() {
    sending_ = live_->TakeMessage();
    if (!sending_.has_value()) return OnAllSent();
    StartWrite();
  }

  void StartWrite() {
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

  // Clients pass over the event, as over all that they do not wait for.
  void Ping() {
    if (sending_.has_value() || !pings_.Take()) return;
    sending_ = OutgoingMessage{WyomingText("ping", OrderedJson::object()), std::nullopt,
                               /*is_snapshot=*/false};
    StartWrite();
  }

  void OnAllSent() {
    const std::optional<Closing> closing = live_->closing();
    if (!closing.has_value()) {
      if (has_client_ended_) End();  // in the middle of an utterance, or between two
      return;
    }
    if (closing->code != kSessionClosed) return Linger();
    BeginUtterance();
    Pump();
  }

  // A socket that is closed with unread bytes may lose the event that was sent last.
  void Linger() {
    phase_ = Phase::kLingering;
    SetStreamSlot(nullptr);
    SystemError ignored;
    stream_.tcp().socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
    if (has_client_ended_) return End();
    linger_deadline_ = Clock::now();
    linger_deadline_ +=
        context_.refusal == Refusal::kNone ? kEventLingerTime : kRefusedEventLingerTime;
    timer_.WakeBy(linger_deadline_);
    if (!is_reading_) Discard();
  }

  void Discard() {
    frame_.reset();
    event_.Clear();
    start_.clear();
    Read();
  }

  void ArmTimer() {
    Clock::time_point deadline = live_->NextDeadline();
    if (before_start_.has_value()) {
      deadline = std::min(deadline, before_start_->Next(/*is_idle_suspended=*/false));
    }
    deadline = std::min(deadline, sending_.has_value() ? write_deadline_ : pings_.next());
    timer_.WakeBy(std::min(deadline, budget_wait_.Next()));
  }

  void OnTimer() {
    if (phase_ == Phase::kLingering) {
      if (Clock::now() >= linger_deadline_) return End();
      return timer_.WakeBy(linger_deadline_);
    }
    if (sending_.has_value() && Clock::now() >= write_deadline_) {
      services().metrics->CountRejection(Rejection::kSlowReader);
      LogRated(LogLevel::kInfo, "connection ended", context_.id + ": the client does not read");
      return End();
    }
    Pump();
    if (phase_ == Phase::kOpen) Ping();
  }

  // The connection is lost, or is closed now.
  void End() {
    phase_ = Phase::kClosed;
    timer_.Cancel();
    live_->Disconnect();
    registration_.reset();
    connection_slot_.Release();
    SetStreamSlot(nullptr);
    context_.ticket.reset();
    stream_.Close();
  }

  AnyStream stream_;
  WakeTimer timer_;
  ConnectionContext context_;
  const std::string info_;
  SessionRegistry::Handle registration_;
  std::shared_ptr<LiveSession> live_;  // of the present utterance
  IdleSlots connection_slot_;
  std::optional<IdleSlots> stream_slot_;  // of the utterance, from its audio-start on
  bool has_stream_slot_ = false;
  std::optional<SessionDeadlines> before_start_;  // until the audio-start
  beast::flat_buffer start_;           // the line of the next event, and what came with it
  std::optional<WyomingFrame> frame_;  // the next event, whose bytes are still to come
  MessageBuffer event_;                // those of its bytes that have come
  BudgetWait budget_wait_;
  PingTimes pings_;
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
