#include "tools/decode/ordered_output.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace runnel {

OrderedOutput::OrderedOutput(const std::string& path, Mode mode)
    : name_(path.empty() || path == "-" ? "standard output" : path),
      file_(path.empty() || path == "-"
                ? stdout
                : std::fopen(path.c_str(), mode == Mode::kAppend ? "a" : "w")) {
  if (file_ == nullptr)
    throw std::runtime_error(name_ + ": cannot create: " + std::strerror(errno));
}

OrderedOutput::~OrderedOutput() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

void OrderedOutput::Put(size_t index, std::string text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  waiting_.emplace(index, std::move(text));
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_;
       first = waiting_.erase(first), ++next_) {
    const std::string& line = first->second;
    if (std::fwrite(line.data(), 1, line.size(), file_) != line.size()) FailToWrite();
  }
  if (std::fflush(file_) != 0) FailToWrite();
}

void OrderedOutput::Close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::FILE* file = std::exchange(file_, nullptr);
  if ((file == stdout ? std::fflush(file) : std::fclose(file)) != 0) FailToWrite();
}

void OrderedOutput::FailToWrite() const {
  throw std::runtime_error(name_ + ": cannot write: " + std::strerror(errno));
}

}  // namespace runnel
