#include "tools/console.h"

#include <glog/logging.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace runnel {
namespace {

size_t TerminalWidth() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

// The last `width` bytes of `text` at most, not starting inside a UTF-8 sequence.
std::string Tail(const std::string& text, size_t width) {
  size_t begin = text.size() > width ? text.size() - width : 0;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) ++begin;
  return text.substr(begin);
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::replace(text.begin(), text.end(), '\r', ' ');
  return text;
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
  LOG(INFO) << name_ << ": " << OneLine(message);
  DrawStatus();
}

void Console::Error(const std::string& message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  LOG(ERROR) << name_ << ": " << OneLine(message);
  DrawStatus();
}

void Console::Print(const std::string& lines) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  std::fwrite(lines.data(), 1, lines.size(), stderr);
  DrawStatus();
}

void Console::SetStatus(const std::string& text) {
  if (!is_terminal_) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearStatus();
  status_ = OneLine(text);
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
