#include "tools/server/session/live_connection.h"

#include <algorithm>
#include <utility>

#include "tools/cli/seconds.h"
#include "tools/server/resources/rated_log.h"

namespace runnel::server {
namespace {

// Between two pings of a client that would not be missed.
constexpr std::chrono::seconds kPingStep{5};

}  // namespace

LiveConnection::LiveConnection(LiveTransport* transport, const Services& services, Client client,
                               const char* kind)
    : transport_(transport), services_(services), client_(std::move(client)), kind_(kind) {}

void LiveConnection::Start(const std::shared_ptr<void>& owner, Executor executor,
                           SessionRegistry* registry, Ticket slot) {
  owner_ = owner;
  executor_ = std::move(executor);
  registry_ = registry;
  connection_slot_.emplace(std::move(slot), Posting([this] { GiveUp(); }));
}

void LiveConnection::BeginSession(std::shared_ptr<Protocol> protocol) {
  ReleaseStreamSlot();
  session_ = std::make_shared<LiveSession>(services_, client_, std::move(protocol),
                                           Posting([this] { Pump(); }));
  auto drain = Posting([this] {
    session_->Drain();
    Pump();
  });
  registration_ = registry_->Add([owner = owner_.lock(), drain = std::move(drain)] { drain(); });
}

void LiveConnection::HoldStreamSlot(Ticket slot) {
  stream_slot_.emplace(std::move(slot), GivingUpSession());
  session_->OnSlot();
  UpdateSlots();
}

void LiveConnection::Open() {
  is_open_ = true;
  Pump();
}

void LiveConnection::Pump() {
  if (!is_open_) return;
  session_->Advance();
  if (session_->CanReceive()) transport_->Read();
  if (!is_sending()) SendNext();
  if (!is_open_) return;
  UpdateSlots();
  const Clock::time_point now = Clock::now();
  next_ping_ =
      transport_->IsWatching() ? Clock::time_point::max() : std::min(next_ping_, now + kPingStep);
  const Clock::time_point deadline = std::min(session_->NextDeadline(), budget_wait_.Next());
  transport_->WaitUntil(std::min(deadline, is_sending() ? write_deadline_ : next_ping_));
}

bool LiveConnection::Reserve(MessageBuffer* buffer, size_t count) {
  if (buffer->Reserve(count)) {
    budget_wait_.End();
    return true;
  }
  if (!budget_wait_.Continue(services_.metrics)) {
    session_->Fail(ErrorCode::kFull, kInputFull);
    buffer->Clear();
  }
  return false;
}

bool LiveConnection::CheckSize(size_t num_bytes) {
  const size_t most = session_->max_message_bytes();
  if (num_bytes <= most) return true;
  services_.metrics->CountRejection(Rejection::kMessageTooLarge);
  session_->Fail(ErrorCode::kMessageTooLarge,
                 "a message is longer than " + std::to_string(most) + " bytes");
  return false;
}

void LiveConnection::Receive(bool is_text, MessageBuffer* buffer) {
  if (buffer->bytes().size() > MessageBuffer::kFreeBytes) {
    return session_->Receive({is_text, std::exchange(*buffer, NewBuffer())});
  }
  session_->Receive({is_text, buffer->bytes()});
  buffer->Clear();
}

void LiveConnection::SendNext() {
  if (std::optional<OutgoingMessage> next = session_->TakeMessage()) {
    return Write(std::move(*next));
  }
  const std::optional<Closing> closing = session_->closing();
  if (!closing.has_value()) return;
  is_open_ = false;
  // Before the client can notice the end and come again.
  ReleaseStreamSlot();
  transport_->Close(*closing);
  if (is_open_) return;  // the next session has begun
  registration_.reset();
  session_->Disconnect();
  UpdateSlots();
}

void LiveConnection::Send(std::string text) {
  Write({std::move(text), std::nullopt, /*is_snapshot=*/false});
}

void LiveConnection::Write(OutgoingMessage message) {
  sending_ = std::move(message);
  write_deadline_ = Clock::now() + Seconds(services_.limits.send_timeout_s);
  transport_->Write(sending_->text);
}

void LiveConnection::OnWritten() {
  session_->OnSent(*std::exchange(sending_, std::nullopt));
  Pump();
}

void LiveConnection::OnTimer() {
  const Clock::time_point now = Clock::now();
  if (is_sending() && now >= write_deadline_) {
    services_.metrics->CountRejection(Rejection::kSlowReader);
    LogRated(LogLevel::kInfo, kind_ + " ended", client_.id + ": the client does not read");
    return transport_->Disconnect();
  }
  // Nothing else is sent. Only the answer tells that a client has gone from which nothing is read:
  // its system refuses what a program no longer takes.
  if (is_open_ && !is_sending() && now >= next_ping_) {
    next_ping_ = now + kPingStep;
    transport_->Ping();
  }
  Pump();
}

// A slot is another client's now.
void LiveConnection::GiveUp() {
  ReleaseSlots();
  if (session_->closing().has_value() && !is_sending()) return transport_->Disconnect();
  if (session_->closing().has_value()) return;
  services_.metrics->CountRejection(Rejection::kIdle);
  session_->Fail(ErrorCode::kIdleTimeout, kGivenUp);
  Pump();
}

void LiveConnection::OnDisconnect() {
  is_open_ = false;
  registration_.reset();
  if (session_ != nullptr) session_->Disconnect();
  ReleaseSlots();
}

// The next session may have begun when this is called, and has other slots.
std::function<void()> LiveConnection::GivingUpSession() {
  return Posting([this, session = std::weak_ptr<LiveSession>(session_)] {
    if (session.lock() == session_) GiveUp();
  });
}

void LiveConnection::UpdateSlots() {
  if (!media_slot_.has_value() && session_->media_place() != nullptr) {
    media_slot_.emplace(session_->media_place(), GivingUpSession());
  }
  for (auto* slot : {&connection_slot_, &stream_slot_, &media_slot_}) {
    if (slot->has_value()) {
      (*slot)->Update(session_->awaits_client(), session_->last_progress());
    }
  }
}

void LiveConnection::ReleaseSlots() {
  connection_slot_.reset();
  ReleaseStreamSlot();
}

void LiveConnection::Fail(const std::exception& error) {
  LogRated(LogLevel::kError, kind_ + " failed", client_.id + ": " + error.what());
  services_.metrics->CountError(ErrorCode::kInternal);
  transport_->Disconnect();
}

std::function<void()> LiveConnection::Posting(std::function<void()> work) {
  return [this, owner = owner_, executor = executor_, work = std::move(work)] {
    executor([this, owner, work] {
      if (const auto held = owner.lock()) Guard(work);
    });
  };
}

}  // namespace runnel::server
