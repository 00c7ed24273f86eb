// Divides slots, or bytes, between accounts, so that none keeps others out with what it does not
// use.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_SHARES_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_SHARES_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace runnel::server {

// When nothing is left, the account that holds most gives up a share, for an account that holds
// less or for itself. Only a share that was offered is given up, and only after it was not used for
// some time; of several, the one that was not used for longest.
//
// An account that would then hold at most half as much as the other takes a share that was not used
// for a third of that time, or not at all. So a large account does not keep a small one out by
// taking shares again and again.
//
// Reads no clock: the caller passes the time. Thread-safe.
class Shares {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  // What one client holds, until its last copy is gone. May live longer than Shares.
  class Share {
   public:
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    virtual ~Share() = default;

    // The client works with it.
    virtual void Use(Time now) = 0;
    // From now on, `give_up` is called when another client needs the share and this one was not
    // used for `patience`, or for less (above): at most once, from any thread. It returns soon. The
    // share then holds nothing. Replaces an earlier offer. Of a share that was given up before, by
    // an earlier offer, it is called at once.
    virtual void Offer(Duration patience, std::function<void()> give_up) = 0;
    // Adds `amount`. False when there is no room; the share is as before then.
    virtual bool Grow(int64_t amount, Time now) = 0;

   protected:
    Share() = default;
  };

  explicit Shares(int64_t capacity);

  // A share of `amount`; null when there is no room.
  std::shared_ptr<Share> Take(const std::string& account, int64_t amount, Time now);

  int64_t amount() const;
  int64_t AmountOf(const std::string& account) const;
  // Whether an account that holds nothing would get a share of 1.
  bool HasRoom(Time now) const;

 private:
  class Held;
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_SHARES_H_
