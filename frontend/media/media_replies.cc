#include "frontend/media/media_replies.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "platform/socket_pair.h"

namespace runnel {
namespace {

[[noreturn]] void FailAsBroken(const std::string& problem) {
  throw std::runtime_error("cannot be decoded (media_decoder " + problem + ")");
}

std::string Seconds(std::chrono::milliseconds time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g s", std::chrono::duration<double>(time).count());
  return text;
}

}  // namespace

void MediaReplies::WaitForBytes() {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
  if (left.count() <= 0) FailAsBroken("made no progress for " + Seconds(patience_));
  WaitToReceive(socket_.get(), left);
}

void MediaReplies::Receive(void* bytes, size_t size) {
  auto* to = static_cast<char*>(bytes);
  while (size > 0) {
    const SocketResult received = ReceiveSome(socket_.get(), to, size);
    if (received.state == SocketState::kWouldWait) {
      WaitForBytes();
      continue;
    }
    if (received.state == SocketState::kClosed) throw MediaProcessGone();
    to += received.count;
    size -= received.count;
  }
}

template <typename Body>
Body MediaReplies::ReceiveBody(const MediaReplyHeader& header) {
  if (header.size != sizeof(Body)) FailAsBroken("sent a reply of a wrong size");
  Body body;
  Receive(&body, sizeof(body));
  return body;
}

std::string MediaReplies::ReceiveText(const MediaReplyHeader& header) {
  std::string text(header.size, '\0');
  Receive(text.data(), text.size());
  // It may stand in headers and logs, whatever the process has become.
  const auto is_unprintable = [](char c) { return c < ' ' || c > '~'; };
  std::replace_if(text.begin(), text.end(), is_unprintable, '?');
  return text;
}

void MediaReplies::ReadReply(const MediaReplyHeader& header) {
  if (header.size > kMaxMediaReplyBytes) FailAsBroken("sent a reply of a wrong size");
  switch (header.type) {
    case MediaReply::kFormat:
      if (format_.rate_hz > 0) FailAsBroken("sent a second format");
      format_ = ReceiveBody<MediaFormatReply>(header);
      if (format_.rate_hz < 1 || format_.channels < 1) FailAsBroken("sent a wrong format");
      return;
    case MediaReply::kSamples:
      if (format_.rate_hz == 0) FailAsBroken("sent samples before their format");
      if (header.size == 0 || header.size % sizeof(float) != 0) {
        FailAsBroken("sent a reply of a wrong size");
      }
      num_left_ = header.size / sizeof(float);
      return;
    case MediaReply::kHungry:
      if (header.size != 0) FailAsBroken("sent a reply of a wrong size");
      if (source_ == MediaSource::kFile) FailAsBroken("asked for bytes of a file");
      is_hungry_ = true;
      return;
    case MediaReply::kEnd:
      end_ = ReceiveBody<MediaEndReply>(header);
      return;
    case MediaReply::kError:
      throw std::runtime_error(ReceiveText(header));
    case MediaReply::kWarning:
      if (warnings_.size() == kMaxMediaWarnings) FailAsBroken("sent too many warnings");
      warnings_.push_back(ReceiveText(header));
      return;
  }
  FailAsBroken("sent a reply of an unknown type");
}

bool MediaReplies::NextSamples() {
  while (num_left_ == 0 && !is_hungry_ && !has_ended()) {
    MediaReplyHeader header;
    Receive(&header, sizeof(header));
    ReadReply(header);
  }
  return num_left_ > 0;
}

void MediaReplies::ReadFormat() {
  deadline_ = Clock::now() + patience_;
  NextSamples();
}

size_t MediaReplies::Read(float* samples, size_t max_samples) {
  size_t done = 0;
  size_t next_deadline = 0;  // in samples
  while (done < max_samples) {
    if (done >= next_deadline) {
      deadline_ = Clock::now() + patience_;
      next_deadline = done + kPatientSamples;
    }
    if (!NextSamples()) break;
    const size_t count = std::min(num_left_, max_samples - done);
    Receive(samples + done, count * sizeof(float));
    num_left_ -= count;
    done += count;
  }
  return done;
}

}  // namespace runnel
