#include "tools/server/grpc/grpc_call.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "tools/cli/seconds.h"
#include "tools/server/resources/rated_log.h"

namespace runnel::server {

namespace net = boost::asio;

GrpcCall::GrpcCall(CallContext context, net::io_context* io)
    : context_(std::move(context)), strand_(net::make_strand(*io)), timer_(strand_) {}

void GrpcCall::Begin() {
  self_ = shared_from_this();
  // On the strand: a drain that comes meanwhile runs after OnBegin.
  Post([this] {
    registration_ = context_.shared->registry->Add([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Post([call = self.get()] { call->OnDrain(); });
    });
    OnBegin();
  });
}

// `event` may use this call, which lives until the event has run.
void GrpcCall::Post(std::function<void()> event) {
  net::post(strand_, [self = shared_from_this(), event = std::move(event)] {
    if (!self->has_ended_ && !self->is_lost_) self->Run(event);
  });
}

// An exception ends this call only.
void GrpcCall::Run(const std::function<void()>& event) {
  try {
    event();
  } catch (const std::exception& error) {
    LogRated(LogLevel::kError, "call failed", id() + ": " + error.what());
    services().metrics->CountError(ErrorCode::kInternal);
    if (has_ended_) return;
    context_.grpc->TryCancel();
    Lose();
  }
}

void GrpcCall::OnReadDone(bool ok) {
  Post([this, ok] {
    is_reading_ = false;
    is_half_closed_ = !ok;
    if (!ok) return OnHalfClose();
    OnMessage(&incoming_);
  });
}

void GrpcCall::OnWriteDone(bool ok) {
  net::post(strand_, [self = shared_from_this(), ok] {
    self->is_writing_ = false;
    if (self->has_ended_) return;
    if (!ok || self->is_lost_) return self->Lose();
    self->Run([&] { self->OnWritten(); });
  });
}

void GrpcCall::OnCancel() {
  net::post(strand_, [self = shared_from_this()] {
    if (!self->has_ended_) self->Lose();
  });
}

void GrpcCall::OnDone() {
  net::post(strand_, [self = shared_from_this()] {
    self->context_.slot.reset();
    self->self_.reset();
  });
}

void GrpcCall::Read() {
  if (is_reading_ || is_half_closed_ || has_ended_) return;
  is_reading_ = true;
  StartRead(&incoming_);
}

void GrpcCall::Write(const std::string& message) {
  const grpc::Slice slice(message);
  outgoing_ = grpc::ByteBuffer(&slice, 1);
  is_writing_ = true;
  write_deadline_ = Clock::now() + Seconds(services().limits.send_timeout_s);
  StartWrite(&outgoing_);
  WaitUntil(write_deadline_);
}

void GrpcCall::AddTrailer(const std::string& key, const std::string& value) {
  context_.grpc->AddTrailingMetadata(key, value);
}

void GrpcCall::End(const grpc::Status& status) {
  has_ended_ = true;
  timer_.cancel();
  registration_.reset();
  Finish(status);
}

// A write that is under way ends soon, because the call is cancelled.
void GrpcCall::Lose() {
  if (!std::exchange(is_lost_, true)) OnLost();
  if (!is_writing_) End(grpc::Status::CANCELLED);
}

void GrpcCall::WaitUntil(Clock::time_point deadline) {
  if (is_writing_) deadline = std::min(deadline, write_deadline_);
  // A timer that is set for an earlier time sets itself again.
  if (deadline >= armed_for_ || has_ended_) return;
  armed_for_ = deadline;
  timer_.expires_at(deadline);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (error || self == nullptr || self->has_ended_ || self->is_lost_) return;
    self->armed_for_ = Clock::time_point::max();
    self->Run([&] { self->OnTimer(); });
  });
}

void GrpcCall::OnTimer() {
  if (!is_writing_ || Clock::now() < write_deadline_) return OnTime();
  services().metrics->CountRejection(Rejection::kSlowReader);
  LogRated(LogLevel::kInfo, "call ended", id() + ": the client does not read");
  context_.grpc->TryCancel();
  Lose();
}

}  // namespace runnel::server
