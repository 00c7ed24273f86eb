// The bytes of a client's message until they are read, and the wait for their room.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_MESSAGE_BUFFER_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_MESSAGE_BUFFER_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tools/server/resources/input_budget.h"
#include "tools/server/resources/metrics.h"

namespace runnel::server {

// Growing copies no large message, and what was read is given back page by page: to the operating
// system, and to the budget. Used by one thread at a time.
class MessageBuffer {
 public:
  // Bytes that every message may have; the budget counts larger ones.
  static constexpr size_t kFreeBytes = 65536;

  MessageBuffer() = default;  // subject to no budget
  // `account`: of the client.
  MessageBuffer(InputBudget* budget, std::string account);
  // `bytes` that are in memory already: they are counted without a limit.
  MessageBuffer(InputBudget* budget, std::string account, std::string_view bytes);
  MessageBuffer(MessageBuffer&& other) noexcept;
  MessageBuffer& operator=(MessageBuffer&& other) noexcept;
  ~MessageBuffer();

  // The bytes that were not read.
  std::string_view bytes() const { return {data_ + begin_, end_ - begin_}; }

  // Makes room for `count` bytes behind the others. False when the budget has no room for them.
  // Throws std::bad_alloc.
  bool Reserve(size_t count);
  // Where that room is, and how many bytes came into it.
  char* end() { return data_ + end_; }
  void Commit(size_t count) { end_ += count; }

  // The first `count` bytes are not needed again.
  void Consume(size_t count);
  // No byte is needed again.
  void Clear();

 private:
  bool is_mapped() const { return capacity_ > kFreeBytes; }
  void Grow(size_t size);
  void Free();

  InputBudget::Share share_;
  char* data_ = nullptr;  // of malloc, or of mmap when it is larger than kFreeBytes
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t num_released_ = 0;  // the bytes before are gone
};

// Why a message is refused that has waited too long.
constexpr char kInputFull[] =
    "messages that wait to be decoded take all the memory that this client may use "
    "(--max_input_mb)";

// The memory that others hold may become free; when clients wait for each other with parts of
// messages, those that have waited longest are refused. Used by one thread at a time.
class BudgetWait {
 public:
  using Clock = std::chrono::steady_clock;

  // There is no room. False when the message has waited too long and is to be refused.
  bool Continue(Metrics* metrics) {
    const Clock::time_point now = Clock::now();
    if (deadline_ == Clock::time_point::max()) {
      deadline_ = now + kPatience;
      metrics->CountPause(Pause::kInput);
    }
    if (now < deadline_) return true;
    End();
    metrics->CountRejection(Rejection::kInputFull);
    return false;
  }

  // There is room now, or no message any more.
  void End() { deadline_ = Clock::time_point::max(); }

  // When to try again; Clock::time_point::max() when no message waits.
  Clock::time_point Next() const {
    return deadline_ == Clock::time_point::max() ? deadline_ : Clock::now() + kStep;
  }

 private:
  static constexpr std::chrono::milliseconds kStep{50};
  static constexpr std::chrono::seconds kPatience{30};

  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_MESSAGE_BUFFER_H_
