// Decodes recordings in a process of its own, the program media_decoder. Private to this project.
//
// FFmpeg brings two hundred shared libraries and reads bytes of strangers in hundreds of formats.
// In a process of its own a crash, an endless loop or much memory of it is one error here.
#ifndef RUNNEL_FRONTEND_MEDIA_MEDIA_PROCESS_H_
#define RUNNEL_FRONTEND_MEDIA_MEDIA_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "frontend/media/file_descriptor.h"
#include "frontend/media/media_protocol.h"

namespace runnel {

// The decoder has closed its socket before its last reply.
class MediaProcessGone : public std::runtime_error {
 public:
  MediaProcessGone() : std::runtime_error("cannot be decoded (media_decoder has ended)") {}
};

// Reads a decoder's replies from its end of a socket, and checks them. Throws std::runtime_error
// with the rest of a sentence whose subject is the recording. One thread at a time.
class MediaReplies {
 public:
  explicit MediaReplies(FileDescriptor socket) : socket_(std::move(socket)) {}

  int socket() const { return socket_.get(); }

  // Writes the next samples and returns their number. 0: the decoder is hungry or has ended.
  size_t Read(float* samples, size_t max_samples);
  // Reads up to the first samples, or until the decoder is hungry or has ended.
  void ReadFormat();
  void OnRequest() { is_hungry_ = false; }

  // Both are 0 before it is known.
  MediaFormatReply format() const { return format_; }
  // Whether the decoder waits for a request.
  bool is_hungry() const { return is_hungry_; }
  bool has_ended() const { return end_.has_value(); }
  // After the end.
  int64_t missing_samples() const { return end_.has_value() ? end_->missing_samples : 0; }

 private:
  // False when the decoder is hungry or has ended; then there are no samples.
  bool NextSamples();
  void ReadReply(const MediaReplyHeader& header);
  void Receive(void* bytes, size_t size);
  template <typename Body>
  Body ReceiveBody(const MediaReplyHeader& header);

  const FileDescriptor socket_;
  MediaFormatReply format_ = {};
  std::optional<MediaEndReply> end_;
  size_t num_left_ = 0;  // samples of the present reply
  bool is_hungry_ = false;
};

// One recording. The process is killed when its MediaProcess is destroyed, and ends by itself when
// this process does. One thread at a time.
//
// The program is the file that the environment variable RUNNEL_MEDIA_DECODER names, or
// media_decoder beside the running program, or in ../libexec/runnel from there, or in the folder
// bin of the Python package, or in the libexec folder that the library was built for.
//
// All functions throw std::runtime_error: the rest of a sentence whose subject is the recording.
class MediaProcess {
 public:
  // Decodes a file that can seek, from the present position of `file` on, which must not be moved
  // until the end. `container`: FFmpeg's name. `channel`: as AudioReaderOptions.channel.
  static std::unique_ptr<MediaProcess> OfFile(int file, const std::string& container, int channel);
  // Decodes the bytes that Give brings.
  static std::unique_ptr<MediaProcess> OfStream(const std::string& container);
  ~MediaProcess();
  MediaProcess(const MediaProcess&) = delete;
  MediaProcess& operator=(const MediaProcess&) = delete;

  // The next bytes of a stream, at most kMaxMediaRequestBytes; none: the stream has ended. Only
  // while the decoder is hungry, as it is after Read has returned 0.
  void Give(std::string_view bytes);
  size_t Read(float* samples, size_t max_samples);
  void ReadFormat();

  MediaFormatReply format() const { return replies_.format(); }
  bool has_ended() const { return replies_.has_ended(); }
  int64_t missing_samples() const { return replies_.missing_samples(); }

 private:
  MediaProcess(pid_t pid, FileDescriptor socket);
  static std::unique_ptr<MediaProcess> Start(int file, const char* mode,
                                             const std::string& container, int channel);
  // Calls `read`; says why the process has ended, when it has.
  template <typename Function>
  auto Guard(const Function& read);

  pid_t pid_;  // -1: it has ended and was waited for
  MediaReplies replies_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_MEDIA_PROCESS_H_
