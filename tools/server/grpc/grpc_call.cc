#include "tools/server/grpc/grpc_call.h"

#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include "tools/server/resources/rated_log.h"

namespace runnel::server {

namespace net = boost::asio;

GrpcCall::GrpcCall(CallContext context, net::io_context* io)
    : context_(std::move(context)), strand_(net::make_strand(*io)), timer_(strand_) {}

void GrpcCall::Begin() {
  self_ = shared_from_this();
  timer_.SetHandler(weak_from_this(), [this] {
    if (!has_ended_ && !is_lost_) Run([this] { OnTime(); });
  });
  Post([this] { OnBegin(); });
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
    Cancel();
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
  StartWrite(&outgoing_);
}

void GrpcCall::AddTrailer(const std::string& key, const std::string& value) {
  context_.grpc->AddTrailingMetadata(key, value);
}

void GrpcCall::End(const grpc::Status& status) {
  has_ended_ = true;
  timer_.Cancel();
  Finish(status);
}

void GrpcCall::Cancel() {
  if (has_ended_) return;
  context_.grpc->TryCancel();
  Lose();
}

// A write that is under way ends soon, because the call is cancelled.
void GrpcCall::Lose() {
  if (!std::exchange(is_lost_, true)) OnLost();
  if (!is_writing_) End(grpc::Status::CANCELLED);
}

void GrpcCall::WaitUntil(Clock::time_point deadline) {
  if (!has_ended_) timer_.WakeBy(deadline);
}

}  // namespace runnel::server
