// The output of a tool to standard error: log lines, and on a terminal a status line.
#ifndef RUNNEL_TOOLS_CLI_CONSOLE_H_
#define RUNNEL_TOOLS_CLI_CONSOLE_H_

#include <mutex>
#include <string>

namespace runnel {

// Results go to standard output, never through this class. Thread-safe: lines of different threads
// do not mix.
class Console {
 public:
  // `name` begins every line. Only one per process, because it sets up glog.
  explicit Console(const std::string& name);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // Log lines after this call begin with glog's severity, date, time and thread. For tools that run
  // for days.
  void ShowTimes();

  // Write one line each. Here and below, control characters become spaces or question marks.
  void Info(const std::string& message);
  void Error(const std::string& message);

  // Writes `line` and a newline, without the tool's name.
  void Print(const std::string& line);

  // Replaces the status line at the bottom of the terminal; "" removes it. A long text is cut to
  // the width of the terminal at its beginning. No effect if standard error is not a terminal.
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

#endif  // RUNNEL_TOOLS_CLI_CONSOLE_H_
