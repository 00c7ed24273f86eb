#include "encoder/cpu/kernels/step_threads.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace runnel::kernels {
namespace {

// Looks at a value so many times before it lets another thread have the core.
constexpr int kSpins = 2000;

template <class Condition>
void SpinUntil(const Condition& condition) {
  for (int spins = 0; !condition(); ++spins) {
    if (spins < kSpins) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } else {
      std::this_thread::yield();
    }
  }
}

// Threads that work for one other thread.
class Team {
 public:
  explicit Team(int num_threads) {
    try {
      for (int part = 1; part < num_threads; ++part) {
        threads_.emplace_back([this, part] { Work(part); });
      }
    } catch (...) {  // the system has no more threads
      EndAndJoin();
      throw;
    }
  }
  ~Team() { EndAndJoin(); }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(threads_.size()) + 1; }
  // False in a child of fork(), which has no threads but the one that called it.
  bool has_threads() const { return process_ == getpid(); }

  // Between both calls the threads wait without sleeping.
  void Begin() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_awake_.store(true, std::memory_order_relaxed);
    }
    wake_.notify_all();
  }
  void End() { is_awake_.store(false, std::memory_order_relaxed); }

  void ForEach(const std::function<void(int)>& body) {
    body_ = &body;
    num_working_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    Run(0);
    SpinUntil([this] { return num_working_.load(std::memory_order_acquire) == 0; });
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void Run(int part) {
    try {
      (*body_)(part);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      error_ = std::current_exception();
    }
  }

  void EndAndJoin() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Work(int part) {
    uint64_t done = 0;
    while (true) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] {
          return is_ending_ || is_awake_.load(std::memory_order_relaxed) ||
                 round_.load(std::memory_order_acquire) != done;
        });
        if (is_ending_) return;
      }
      uint64_t round = done;
      SpinUntil([&] {
        round = round_.load(std::memory_order_acquire);
        return round != done || !is_awake_.load(std::memory_order_relaxed);
      });
      if (round == done) continue;
      done = round;
      Run(part);
      num_working_.fetch_sub(1, std::memory_order_release);
    }
  }

  const pid_t process_ = getpid();
  std::vector<std::thread> threads_;
  const std::function<void(int)>* body_ = nullptr;  // of this round
  std::exception_ptr error_;                        // likewise
  std::atomic<uint64_t> round_{0};
  std::atomic<int> num_working_{0};
  std::atomic<bool> is_awake_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_ending_ = false;
};

struct OfThread {
  ~OfThread() { Forget(); }
  // Ends the team, or leaves it alone where its threads do not exist.
  void Forget() {
    if (team != nullptr && !team->has_threads())
      team.release();  // NOLINT(bugprone-unused-return-value)
    team.reset();
  }

  std::unique_ptr<Team> team;  // of the calling thread, kept from step to step
  Team* used = nullptr;        // null outside of steps
};
OfThread& Mine() {
  thread_local OfThread mine;
  return mine;
}

}  // namespace

StepThreads::StepThreads(int num_threads) {
  OfThread& mine = Mine();
  if (num_threads == 1) return;
  if (mine.team == nullptr || mine.team->size() != num_threads || !mine.team->has_threads()) {
    mine.Forget();
    mine.team = std::make_unique<Team>(num_threads);
  }
  mine.used = mine.team.get();
  mine.used->Begin();
}

StepThreads::~StepThreads() {
  OfThread& mine = Mine();
  if (mine.used == nullptr) return;
  mine.used->End();
  mine.used = nullptr;
}

int StepThreads::Count() {
  const Team* team = Mine().used;
  return team == nullptr ? 1 : team->size();
}

void StepThreads::ForEach(const std::function<void(int part)>& body) {
  Team* team = Mine().used;
  if (team == nullptr) return body(0);
  team->ForEach(body);
}

}  // namespace runnel::kernels
