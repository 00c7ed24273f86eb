// Writes results in the order of the input, whatever the order in which they arrive.
#ifndef RUNNEL_TOOLS_DECODE_ORDERED_OUTPUT_H_
#define RUNNEL_TOOLS_DECODE_ORDERED_OUTPUT_H_

#include <cstddef>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "tools/decode/result_sink.h"

namespace runnel {

// Keeps a piece only while an earlier result is not complete. Every other piece is written and
// flushed at once. The methods throw std::runtime_error, which names the file, when writing fails,
// and end the process when the reader of a pipe is gone (EndByClosedPipe).
class OrderedOutput : public ResultSink {
 public:
  enum class Mode { kOverwrite, kAppend };

  // Creates `path` if it is missing; "" and "-" are standard output. Throws std::runtime_error when
  // it cannot be opened.
  explicit OrderedOutput(const std::string& path, Mode mode = Mode::kOverwrite);
  ~OrderedOutput() override;
  OrderedOutput(const OrderedOutput&) = delete;
  OrderedOutput& operator=(const OrderedOutput&) = delete;

  void Append(size_t index, const std::string& piece) override;
  void Complete(size_t index) override;

  // A result in one piece.
  void Put(size_t index, const std::string& text);

  // Writes everything.
  void Close();

 private:
  // The pieces of a result that has to wait.
  struct Waiting {
    std::string text;
    bool is_complete = false;
  };

  void Write(const std::string& text);
  void Flush();
  [[noreturn]] void FailToWrite() const;

  const std::string name_;
  std::FILE* file_;
  std::mutex mutex_;
  size_t next_ = 0;  // the first result that is not complete
  std::map<size_t, Waiting> waiting_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_ORDERED_OUTPUT_H_
