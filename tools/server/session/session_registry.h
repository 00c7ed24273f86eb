// The sessions and uploads of a server, which are told when it shuts down.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_SESSION_REGISTRY_H_
#define RUNNEL_TOOLS_SERVER_SESSION_SESSION_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace runnel::server {

// Thread-safe. Owns the callback of a member until the member's handle is released, or Clear.
class SessionRegistry {
 public:
  using Handle = std::shared_ptr<void>;

  // `drain` is called from any thread and ends the session soon. It is not called after the handle
  // was released, but a call that has begun may still run then.
  Handle Add(std::function<void()> drain) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    const int64_t key = state_->next_key++;
    state_->members.emplace(key, std::move(drain));
    return Handle(state_.get(), [state = state_, key](void*) {
      std::function<void()> dropped;  // outside the lock
      const std::lock_guard<std::mutex> inner_lock(state->mutex);
      const auto found = state->members.find(key);
      if (found == state->members.end()) return;
      dropped.swap(found->second);
      state->members.erase(found);
    });
  }

  // Drops all members. To be called when no thread of the server runs any more.
  void Clear() {
    std::map<int64_t, std::function<void()>> dropped;  // outside the lock
    const std::lock_guard<std::mutex> lock(state_->mutex);
    dropped.swap(state_->members);
  }

  // Calls `drain` of each member.
  void DrainAll() const {
    std::vector<std::function<void()>> drains;
    {
      const std::lock_guard<std::mutex> lock(state_->mutex);
      for (const auto& [key, drain] : state_->members) drains.push_back(drain);
    }
    for (const auto& drain : drains) drain();
  }

 private:
  struct State {
    std::mutex mutex;
    int64_t next_key = 0;
    std::map<int64_t, std::function<void()>> members;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_SESSION_REGISTRY_H_
