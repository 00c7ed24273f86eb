// Reads text line by line, from a file, a pipe or memory.
#ifndef RUNNEL_RUNTIME_NGRAM_LINE_READER_H_
#define RUNNEL_RUNTIME_NGRAM_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace runnel {

// Memory does not depend on the length of the text.
class LineReader {
 public:
  static constexpr size_t kMaxLineSize = size_t{1} << 20;  // bytes

  // Reads up to `size` bytes into `buffer`; returns their number, 0 at the end.
  using ReadBytes = std::function<size_t(char* buffer, size_t size)>;

  // `size`: of the whole text in bytes, 0 if it is not known. `source` begins the messages.
  LineReader(ReadBytes read, uint64_t size, std::string source);

  // The first `size` bytes of the text, or all of a shorter one. Only before the first Next.
  std::string_view Peek(size_t size);

  // Sets `line` to the next line without its end (LF or CRLF), valid until the next call; the byte
  // order mark of a first line is left out. False at the end of the text. Throws
  // std::runtime_error for a line that is longer than kMaxLineSize, has a zero byte or is not
  // UTF-8.
  bool Next(std::string_view* line);

  // Throws std::runtime_error "source:line: problem", where line counts from 1.
  [[noreturn]] void Fail(const std::string& problem) const { FailAt(number_, problem); }
  [[noreturn]] void FailAt(uint64_t line, const std::string& problem) const;
  // Without a line.
  [[noreturn]] void FailWhole(const std::string& problem) const;

  // Of the line that Next gave last, from 1.
  uint64_t number() const { return number_; }
  // Bytes that are not read yet, 0 if that is not known.
  uint64_t bytes_left() const { return size_ > consumed_ ? size_ - consumed_ : 0; }
  // The part of the text that is read, 0 to 1; 0 if that is not known.
  double fraction() const;

 private:
  // Reads more of the text behind what is in the buffer. False at the end.
  bool Fill();

  ReadBytes read_;
  const uint64_t size_;
  const std::string source_;
  std::string buffer_;
  size_t begin_ = 0;       // of what Next has not given, in the buffer
  size_t end_ = 0;         // of what is read
  uint64_t consumed_ = 0;  // bytes that Next has given
  uint64_t number_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_LINE_READER_H_
