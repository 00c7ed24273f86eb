// How much the calls of a connection have sent.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_CALL_PROGRESS_H_
#define RUNNEL_TOOLS_SERVER_GRPC_CALL_PROGRESS_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace runnel::server {

// Calls are known by their HTTP/2 stream. Thread-safe.
class CallProgress {
 public:
  void Open(uint32_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    num_bytes_.try_emplace(stream, 0);
  }

  void Add(uint32_t stream, size_t num_bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    num_bytes_[stream] += num_bytes;
  }

  void Close(uint32_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    num_bytes_.erase(stream);
  }

  // Bytes of messages, with their framing. 0 for a call that is not open.
  uint64_t num_bytes(uint32_t stream) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = num_bytes_.find(stream);
    return found == num_bytes_.end() ? 0 : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, uint64_t> num_bytes_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_CALL_PROGRESS_H_
