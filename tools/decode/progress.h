// The progress of decoding a list: a status line on a terminal, and a summary at the end.
#ifndef RUNNEL_TOOLS_DECODE_PROGRESS_H_
#define RUNNEL_TOOLS_DECODE_PROGRESS_H_

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

#include "tools/cli/console.h"

namespace runnel {

// Thread-safe. The clock starts at construction.
class Progress {
 public:
  // `shows_bar`: show a bar if standard error is a terminal.
  Progress(size_t num_recordings, bool shows_bar, Console* console);

  // Audio that was read, and the part of a recording that it is.
  void AddAudio(double seconds, double part);
  // A recording has ended; `part`: what AddAudio was not told of it.
  void AddFinished(bool failed, double part);

  // Files and failures; of audio, also its seconds, wall seconds and real-time factor. One line, no
  // newline.
  std::string Summary() const;

  size_t num_failed() const;

 private:
  void Show();

  const size_t num_recordings_;
  const bool shows_bar_;
  Console* const console_;
  const std::chrono::steady_clock::time_point start_;
  mutable std::mutex mutex_;
  std::chrono::steady_clock::time_point last_shown_;
  size_t num_finished_ = 0;
  size_t num_failed_ = 0;
  double audio_seconds_ = 0;
  double parts_ = 0;  // of all recordings, in recordings
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_PROGRESS_H_
