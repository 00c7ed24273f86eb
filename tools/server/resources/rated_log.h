// Lines of the log that clients can cause: few of a kind, and in printable characters.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_RATED_LOG_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_RATED_LOG_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace runnel::server {

enum class LogLevel { kInfo, kWarning, kError };

// Writes "kind: text", at most one such line in a second of each kind. The next line tells how many
// were left out. `kind` is a constant of the program. `text` may hold a client's bytes; its first
// line is written, as Printable, and cut after some 300 bytes. Thread-safe.
void LogRated(LogLevel level, const std::string& kind, std::string_view text);

// Writes how many lines were left out since the last of their kind. To be called when the server
// ends.
void LogLeftOut();

// Which lines LogRated writes. Thread-safe. Reads no clock: the caller passes the time.
class LineRates {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The line to write for one of this kind; empty when it is left out.
  std::optional<std::string> Line(const std::string& kind, std::string_view text, Time now);

  // A line for each kind of which lines were left out since its last one.
  std::vector<std::string> TakeLeftOut();

 private:
  struct Rate {
    Time last;
    int64_t num_left_out = 0;
  };

  std::mutex mutex_;
  std::map<std::string, Rate> rates_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_RATED_LOG_H_
