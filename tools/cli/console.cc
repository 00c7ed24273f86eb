#include "tools/cli/console.h"

#include <glog/logging.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

namespace runnel {
namespace {

size_t TerminalWidth() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

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

Console::Console(const std::string& name) : name_(name), is_terminal_(isatty(STDERR_FILENO) == 1) {
  FLAGS_logtostderr = true;
  FLAGS_log_prefix = false;
  google::InitGoogleLogging(name_.c_str());
}

Console::~Console() {
  SetStatus("");
  google::ShutdownGoogleLogging();
}

void Console::ShowTimes() { FLAGS_log_prefix = true; }

void Console::Info(const std::string& message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  LOG(INFO) << name_ << ": " << WithoutControls(message);
  DrawStatus();
}

void Console::Error(const std::string& message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  LOG(ERROR) << name_ << ": " << WithoutControls(message);
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
