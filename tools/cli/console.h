// All that a tool says on standard error: log lines, and on a terminal one line rewritten in place.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_CONSOLE_H_
#define RUNNEL_TOOLS_CONSOLE_H_

#include <mutex>
#include <string>

namespace runnel {

// Standard output is a tool's product and never passes through here. Thread-safe: lines of
// different threads do not mix.
class Console {
 public:
  // `name` begins every line. One per process: it sets up glog.
  explicit Console(const std::string& name);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // From now on a log line begins with glog's severity, date, time and thread: for what runs for
  // days.
  void ShowTimes();

  // One line each; control characters in `message` become spaces and question marks, here and
  // below.
  void Info(const std::string& message);
  void Error(const std::string& message);

  // A line without the tool's name; the line break is added.
  void Print(const std::string& line);

  // Replaces the line at the bottom of the terminal, cut to its width (the end of `text` is kept);
  // "" removes it. Nothing when standard error is not a terminal.
  void SetStatus(const std::string& text);

  bool is_terminal() const { return is_terminal_; }

 private:
  void ClearStatus();
  void DrawStatus();

  const std::string name_;
  const bool is_terminal_;
  std::mutex mutex_;
  std::string status_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CONSOLE_H_
