// Reads the replies of a media_decoder. Private to this project.
#ifndef RUNNEL_FRONTEND_MEDIA_MEDIA_REPLIES_H_
#define RUNNEL_FRONTEND_MEDIA_MEDIA_REPLIES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frontend/media/media_protocol.h"
#include "platform/file_descriptor.h"

namespace runnel {

// The decoder has closed its socket before its last reply.
class MediaProcessGone : public std::runtime_error {
 public:
  MediaProcessGone() : std::runtime_error("cannot be decoded (media_decoder has ended)") {}
};

// What a decoder reads: a file by itself, or the bytes of requests.
enum class MediaSource { kFile, kStream };

// Reads a decoder's replies from its end of a socket, and checks them. Throws std::runtime_error
// with the rest of a sentence whose subject is the recording. One thread at a time.
class MediaReplies {
 public:
  // Of one Read for which it may take `patience`.
  static constexpr size_t kPatientSamples = 16384;

  // `patience`: how long kPatientSamples samples may take, or those up to the end or to a request.
  MediaReplies(FileDescriptor socket, MediaSource source, std::chrono::milliseconds patience)
      : socket_(std::move(socket)), source_(source), patience_(patience) {}

  int socket() const { return socket_.get(); }

  // Writes the next samples and returns their number. 0: the decoder is hungry or has ended.
  size_t Read(float* samples, size_t max_samples);
  // Reads up to the first samples, or until the decoder is hungry or has ended.
  void ReadFormat();
  void OnRequest() { is_hungry_ = false; }

  // Both are 0 before it is known.
  MediaFormatReply format() const { return format_; }
  // Whether the decoder waits for a request. Only of a stream.
  bool is_hungry() const { return is_hungry_; }
  bool has_ended() const { return end_.has_value(); }
  // After the end.
  int64_t missing_samples() const { return end_.has_value() ? end_->missing_samples : 0; }
  // So far; each is the rest of a sentence whose subject is the recording.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  using Clock = std::chrono::steady_clock;

  // False when the decoder is hungry or has ended; then there are no samples.
  bool NextSamples();
  void ReadReply(const MediaReplyHeader& header);
  void Receive(void* bytes, size_t size);
  void WaitForBytes();
  template <typename Body>
  Body ReceiveBody(const MediaReplyHeader& header);
  std::string ReceiveText(const MediaReplyHeader& header);

  const FileDescriptor socket_;
  const MediaSource source_;
  const std::chrono::milliseconds patience_;
  Clock::time_point deadline_;
  MediaFormatReply format_ = {};
  std::optional<MediaEndReply> end_;
  std::vector<std::string> warnings_;
  size_t num_left_ = 0;  // samples of the present reply
  bool is_hungry_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_MEDIA_REPLIES_H_
