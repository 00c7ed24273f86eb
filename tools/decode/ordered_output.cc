#include "tools/decode/ordered_output.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "platform/file_access.h"
#include "platform/process.h"

namespace runnel {

OrderedOutput::OrderedOutput(const std::string& path, Mode mode)
    : name_(path.empty() || path == "-" ? "standard output" : path),
      file_(path.empty() || path == "-" ? stdout
                                        : OpenStream(path, mode == Mode::kAppend ? "a" : "w")) {
  if (file_ == nullptr)
    throw std::runtime_error(name_ + ": cannot create: " + std::strerror(errno));
}

OrderedOutput::~OrderedOutput() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void OrderedOutput::Append(size_t index, const std::string& piece) {
  if (piece.empty()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (index != next_) {
    waiting_[index].text += piece;
    return;
  }
  Write(piece);
  Flush();
}

void OrderedOutput::Complete(size_t index) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_[index].is_complete = true;
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
       first = waiting_.erase(first)) {
    Write(first->second.text);
    if (first->second.is_complete) ++next_;
  }
  Flush();
}

void OrderedOutput::Put(size_t index, const std::string& text) {
  Append(index, text);
  Complete(index);
}

void OrderedOutput::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::FILE* file = std::exchange(file_, nullptr);
  if ((file == stdout ? std::fflush(file) : std::fclose(file)) != 0) FailToWrite();
}

void OrderedOutput::Write(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) FailToWrite();
}

void OrderedOutput::Flush() {
  if (std::fflush(file_) != 0) FailToWrite();
}

void OrderedOutput::FailToWrite() const {
  const int error = errno;
  EndByClosedPipe(error);
  throw std::runtime_error(name_ + ": cannot write: " + std::strerror(error));
}

}  // namespace runnel
