#include "runtime/ngram/line_reader.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "runtime/text/utf8.h"

namespace runnel {
namespace {

constexpr size_t kBlockSize = size_t{1} << 18;

// For messages, which quote the text: tabs become spaces, other control characters question marks.
std::string Printable(std::string text) {
  std::replace(text.begin(), text.end(), '\t', ' ');
  std::replace_if(text.begin(), text.end(), IsControl, '?');
  return text;
}

}  // namespace

LineReader::LineReader(ReadBytes read, uint64_t size, std::string source)
    : read_(std::move(read)), size_(size), source_(std::move(source)) {}

std::string_view LineReader::Peek(size_t size) {
  while (end_ - begin_ < size && Fill()) {
  }
  return std::string_view(buffer_).substr(begin_, std::min(size, end_ - begin_));
}

bool LineReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kBlockSize) buffer_.resize(end_ + kBlockSize);
  const size_t count = read_(buffer_.data() + end_, buffer_.size() - end_);
  end_ += count;
  return count > 0;
}

bool LineReader::Next(std::string_view* line) {
  ++number_;
  size_t length = 0;  // known to be without a line end
  while (true) {
    const char* start = buffer_.data() + begin_;
    const void* found = std::memchr(start + length, '\n', end_ - begin_ - length);
    if (found != nullptr) {
      length = static_cast<size_t>(static_cast<const char*>(found) - start);
      break;
    }
    length = end_ - begin_;
    if (length > kMaxLineSize) break;
    if (!Fill()) {
      if (length == 0) return false;
      break;
    }
  }
  if (length > kMaxLineSize) {
    Fail("longer than " + std::to_string(kMaxLineSize) + " bytes; expected lines of ARPA text");
  }
  *line = std::string_view(buffer_.data() + begin_, length);
  const size_t taken = std::min(length + 1, end_ - begin_);
  begin_ += taken;
  consumed_ += taken;
  *line = TrimmedLine(*line, number_ == 1);
  if (std::memchr(line->data(), '\0', line->size()) != nullptr) {
    Fail("has a zero byte; expected ARPA text or a compiled model");
  }
  if (!IsUtf8(*line)) Fail("is not UTF-8; expected ARPA text in UTF-8, or a compiled model");
  return true;
}

void LineReader::FailAt(uint64_t line, const std::string& problem) const {
  throw std::runtime_error(source_ + ":" + std::to_string(line) + ": " + Printable(problem));
}

void LineReader::FailWhole(const std::string& problem) const {
  throw std::runtime_error(source_ + ": " + Printable(problem));
}

double LineReader::fraction() const {
  return size_ == 0 ? 0
                    : std::min(1.0, static_cast<double>(consumed_) / static_cast<double>(size_));
}

}  // namespace runnel
