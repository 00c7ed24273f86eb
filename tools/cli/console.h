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
  // `name` begins every line.
  explicit Console(const std::string& name);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  enum class Severity { kInfo, kError };
  using Log = void (*)(Severity severity, const std::string& line);

  // `log` writes the lines of Info and Error after this call. For tools that run for days, whose
  // lines have times.
  void LogBy(Log log);

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
  void Write(Severity severity, const std::string& message);
  void ClearStatus();
  void DrawStatus();

  const std::string name_;
  const bool is_terminal_;
  std::mutex mutex_;
  std::string status_;
  Log log_ = nullptr;  // null: lines as they are, to standard error
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_CONSOLE_H_
