// A value that is replaced while others use it.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_REPLACEABLE_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_REPLACEABLE_H_

#include <memory>
#include <mutex>
#include <utility>

namespace runnel::server {

// Thread-safe. Whoever has taken a value keeps it.
template <class Value>
class Replaceable {
 public:
  explicit Replaceable(Value value = {}) { Set(std::move(value)); }

  std::shared_ptr<Value> Get() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return value_;
  }

  void Set(Value value) {
    auto next = std::make_shared<Value>(std::move(value));
    const std::lock_guard<std::mutex> lock(mutex_);
    value_.swap(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Value> value_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_REPLACEABLE_H_
