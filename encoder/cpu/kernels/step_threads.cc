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

}  // namespace

// Threads that work for one other thread at a time.
class StepTeam {
 public:
  explicit StepTeam(int num_threads) {
    try {
      for (int part = 1; part < num_threads; ++part) {
        threads_.emplace_back([this, part] { Work(part); });
      }
    } catch (...) {  // the system has no more threads
      EndAndJoin();
      throw;
    }
  }
  ~StepTeam() { EndAndJoin(); }
  StepTeam(const StepTeam&) = delete;
  StepTeam& operator=(const StepTeam&) = delete;

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

namespace {

thread_local StepTeam* team_of_thread = nullptr;  // null outside of steps

}  // namespace

StepTeams::StepTeams(int num_threads) : num_threads_(num_threads) {}

StepTeams::~StepTeams() {
  for (std::unique_ptr<StepTeam>& team : idle_) {
    if (!team->has_threads()) team.release();  // NOLINT(bugprone-unused-return-value)
  }
}

std::unique_ptr<StepTeam> StepTeams::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!idle_.empty()) {
    std::unique_ptr<StepTeam> team = std::move(idle_.back());
    idle_.pop_back();
    if (team->has_threads()) return team;
    team.release();  // NOLINT(bugprone-unused-return-value): its end would wait for them
  }
  idle_.reserve(num_teams_ + 1);
  auto team = std::make_unique<StepTeam>(num_threads_);
  ++num_teams_;
  return team;
}

// There is room for every team.
void StepTeams::Return(std::unique_ptr<StepTeam> team) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(team));
}

StepThreads::StepThreads(StepTeams* teams) : teams_(teams) {
  if (teams->num_threads_ == 1) return;
  team_ = teams->Take();
  team_->Begin();
  team_of_thread = team_.get();
}

StepThreads::~StepThreads() {
  if (team_ == nullptr) return;
  team_of_thread = nullptr;
  team_->End();
  teams_->Return(std::move(team_));
}

int StepThreads::Count() { return team_of_thread == nullptr ? 1 : team_of_thread->size(); }

void StepThreads::ForEach(const std::function<void(int part)>& body) {
  if (team_of_thread == nullptr) return body(0);
  team_of_thread->ForEach(body);
}

}  // namespace runnel::kernels
