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
#include <string>
#include <string_view>
#include <vector>

#include "frontend/media/media_replies.h"
#include "platform/child_process.h"

namespace runnel {

// One recording. The process is killed when its MediaProcess is destroyed, and ends by itself when
// this process does. One thread at a time.
//
// The program is the file that the environment variable RUNNEL_MEDIA_DECODER names, or
// media_decoder beside the running program, or in ../libexec/runnel from there, or in the folder
// bin of the Python package, or in the libexec folder that the library was built for. It has no
// environment but LD_LIBRARY_PATH.
//
// A process that makes no progress for 60 s, that of a stream for 10 s, is an error. The
// environment variable RUNNEL_MEDIA_PATIENCE_S sets another time for both.
//
// All functions throw std::runtime_error: the rest of a sentence whose subject is the recording.
class MediaProcess {
 public:
  // Decodes a file that can seek, from the present position of `file` on, which must not be moved
  // until the end. `container`: FFmpeg's name.
  static std::unique_ptr<MediaProcess> OfFile(int file, const std::string& container,
                                              const MediaChoice& choice);
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
  const std::vector<std::string>& warnings() const { return replies_.warnings(); }
  pid_t pid() const { return process_.pid(); }

 private:
  MediaProcess(const std::string& program, int file, MediaSource source,
               const std::string& container, const MediaChoice& choice, FileDescriptor ours,
               int theirs);
  static std::unique_ptr<MediaProcess> Start(int file, MediaSource source,
                                             const std::string& container,
                                             const MediaChoice& choice);
  // Calls `read`; says why the process has ended, when it has.
  template <typename Function>
  auto Guard(const Function& read);

  ChildProcess process_;
  MediaReplies replies_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_MEDIA_PROCESS_H_
