// The live sessions of a server, to reach all of them when it ends.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_SESSION_REGISTRY_H_
#define RUNNEL_TOOLS_SERVER_SESSION_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace runnel::server {

// Thread-safe. A member stays, and what it holds, until its handle is let go of or all are dropped.
class SessionRegistry {
 public:
  using Handle = std::shared_ptr<void>;

  // `drain` ends the session soon, from any thread; it is not called after the handle is gone, but
  // may be just running then.
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

  // Lets go of all members; at the end, when nothing runs any more.
  void Clear() {
    std::map<int64_t, std::function<void()>> dropped;  // outside the lock
    const std::lock_guard<std::mutex> lock(state_->mutex);
    dropped.swap(state_->members);
  }

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

#endif  // RUNNEL_TOOLS_SERVER_SESSION_REGISTRY_H_
