#include "tools/cli/console.h"

#include <unistd.h>

#include <cstddef>
#include <cstdio>

#include "platform/process.h"

namespace runnel {
namespace {

// At most the last `width` bytes of `text`, beginning at a whole UTF-8 character.
std::string Tail(const std::string& text, size_t width) {
  size_t begin = text.size() > width ? text.size() - width : 0;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return text.substr(begin);
}

// `text` without control characters (ASCII, and U+0080 to U+009F), which terminals obey and file
// names may hold. White space becomes spaces, the others question marks.
std::string WithoutControls(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (byte >= '\t' && byte <= '\r') {
      result += ' ';
    } else if (byte < 0x20 || byte == 0x7F) {
      result += '?';
    } else if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {
      result += '?';
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

Console::Console(const std::string& name)
    : name_(name), is_terminal_(ObeysEscapeSequences(STDERR_FILENO)) {}

Console::~Console() { SetStatus(""); }

void Console::LogBy(Log log) {
  const std::lock_guard<std::mutex> lock(mutex_);
  log_ = log;
}

void Console::Info(const std::string& message) { Write(Severity::kInfo, message); }
void Console::Error(const std::string& message) { Write(Severity::kError, message); }

void Console::Write(Severity severity, const std::string& message) {
  const std::string line = name_ + ": " + WithoutControls(message);
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  if (log_ != nullptr) {
    log_(severity, line);
  } else {
    const std::string ended = line + "\n";
    std::fwrite(ended.data(), 1, ended.size(), stderr);
  }
  DrawStatus();
}

void Console::Print(const std::string& line) {
  const std::string shown = WithoutControls(line) + "\n";
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  std::fwrite(shown.data(), 1, shown.size(), stderr);
  DrawStatus();
}

void Console::SetStatus(const std::string& text) {
  if (!is_terminal_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  status_ = WithoutControls(text);
  DrawStatus();
}

void Console::ClearStatus() {
  if (!status_.empty()) std::fputs("\r\x1b[K", stderr);
}

void Console::DrawStatus() {
  if (status_.empty()) return;
  const std::string visible = Tail(status_, TerminalWidth() - 1);
  std::fwrite(visible.data(), 1, visible.size(), stderr);
}

}  // namespace runnel
