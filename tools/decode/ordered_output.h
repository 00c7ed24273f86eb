// Writes results in the order of the input, whatever the order in which they arrive.
#ifndef RUNNEL_TOOLS_DECODE_ORDERED_OUTPUT_H_
#define RUNNEL_TOOLS_DECODE_ORDERED_OUTPUT_H_

#include <cstddef>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

namespace runnel {

// Put is thread-safe.
class OrderedOutput {
 public:
  enum class Mode { kOverwrite, kAppend };

  // Creates `path` if it is missing; "" and "-" are standard output. Throws std::runtime_error when
  // it cannot be opened.
  explicit OrderedOutput(const std::string& path, Mode mode = Mode::kOverwrite);
  ~OrderedOutput();
  OrderedOutput(const OrderedOutput&) = delete;
  OrderedOutput& operator=(const OrderedOutput&) = delete;

  // Takes the text of result `index` (0, 1, ..., each once; may be empty), which is written and
  // flushed after those before it. Throws std::runtime_error, which names the file, when writing
  // fails.
  void Put(size_t index, std::string text);

  // Writes everything; throws as Put does.
  void Close();

 private:
  [[noreturn]] void FailToWrite() const;

  const std::string name_;
  std::FILE* file_;
  std::mutex mutex_;
  size_t next_ = 0;
  std::map<size_t, std::string> waiting_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_ORDERED_OUTPUT_H_
