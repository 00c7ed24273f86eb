#include "tools/decode/progress.h"

#include <algorithm>

#include "tools/cli/decimal.h"
#include "tools/cli/seconds.h"

namespace runnel {
namespace {

constexpr std::chrono::milliseconds kShowInterval{100};
constexpr size_t kBarWidth = 24;

}  // namespace

Progress::Progress(size_t num_recordings, bool shows_bar, Console* console)
    : num_recordings_(num_recordings),
      shows_bar_(shows_bar && console->is_terminal()),
      console_(console),
      start_(std::chrono::steady_clock::now()),
      last_shown_(start_) {}

void Progress::AddAudio(double seconds, double part) {
  const std::lock_guard<std::mutex> lock(mutex_);
  audio_seconds_ += seconds;
  parts_ += part;
  Show();
}

void Progress::AddFinished(bool failed, double part) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++num_finished_;
  parts_ += part;
  if (failed) ++num_failed_;
  Show();
}

void Progress::Show() {
  if (!shows_bar_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_shown_ < kShowInterval) return;
  last_shown_ = now;
  // The sum of many parts may exceed the whole by its rounding.
  const double share = std::clamp(parts_ / static_cast<double>(num_recordings_), 0.0, 1.0);
  const auto filled = static_cast<size_t>(share * static_cast<double>(kBarWidth));
  console_->SetStatus("[" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "] " +
                      std::to_string(num_finished_) + "/" + std::to_string(num_recordings_) +
                      " files, " + (share > 0 ? Decimal(100 * share, 0) + " %, " : "") +
                      Decimal(audio_seconds_, 1) + " s of audio");
}

std::string Progress::Summary() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string files =
      "files " + std::to_string(num_finished_) + ", failures " + std::to_string(num_failed_);
  if (audio_seconds_ <= 0) return files;
  const double wall_seconds = SecondsSince(start_);
  return files + ", audio " + Decimal(audio_seconds_, 2) + " s, wall " + Decimal(wall_seconds, 2) +
         " s, real-time factor " + Decimal(wall_seconds / audio_seconds_, 4);
}

size_t Progress::num_failed() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return num_failed_;
}

}  // namespace runnel
