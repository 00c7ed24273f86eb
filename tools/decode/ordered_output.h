// Writes results in the order of the input, whatever the order in which they are found.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_ORDERED_OUTPUT_H_
#define RUNNEL_TOOLS_ORDERED_OUTPUT_H_

#include <cstddef>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

namespace runnel {

// Put may be called from several threads.
class OrderedOutput {
 public:
  enum class Mode { kOverwrite, kAppend };

  // `path` is created when it is missing; "" and "-" are standard output. Throws std::runtime_error
  // when it cannot be opened.
  explicit OrderedOutput(const std::string& path, Mode mode = Mode::kOverwrite);
  ~OrderedOutput();
  OrderedOutput(const OrderedOutput&) = delete;
  OrderedOutput& operator=(const OrderedOutput&) = delete;

  // The text of result `index` (0, 1, ..., each once; may be empty), written and flushed as soon as
  // those before it are. Throws std::runtime_error naming the file when it cannot be written.
  void Put(size_t index, std::string text);

  // Throws as Put does; afterwards everything is written.
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

#endif  // RUNNEL_TOOLS_ORDERED_OUTPUT_H_
