// Several threads for the step of one stream, where a step's time counts more than the number of
// streams.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_STEP_THREADS_H_
#define RUNNEL_ENCODER_CPU_KERNELS_STEP_THREADS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace runnel::kernels {

class StepTeam;  // in step_threads.cc

// The threads that help others with their steps: for each step that runs at a time, a team of
// `num_threads` - 1. Teams are kept from step to step, and end with the object. No StepThreads may
// outlive it. Any thread may use it, also after fork().
class StepTeams {
 public:
  explicit StepTeams(int num_threads);
  ~StepTeams();
  StepTeams(const StepTeams&) = delete;
  StepTeams& operator=(const StepTeams&) = delete;

 private:
  friend class StepThreads;
  // Throws std::system_error when the system has no more threads.
  std::unique_ptr<StepTeam> Take();
  void Return(std::unique_ptr<StepTeam> team) noexcept;

  const int num_threads_;
  std::mutex mutex_;
  size_t num_teams_ = 0;  // idle or not
  std::vector<std::unique_ptr<StepTeam>> idle_;
};

// While the object lives, the large kernels that the calling thread runs (matrix multiplications,
// attention, layer norms and convolutions) are split over the threads of a team, itself included.
// The others wait for work without sleeping, and sleep when the object ends. Results have the same
// bits for any number. Objects of a thread may not be nested.
class StepThreads {
 public:
  // Throws std::system_error when the system has no more threads.
  explicit StepThreads(StepTeams* teams);
  ~StepThreads();
  StepThreads(const StepThreads&) = delete;
  StepThreads& operator=(const StepThreads&) = delete;

  // 1 where no object lives.
  static int Count();
  // Calls body(0) to body(Count() - 1), each in a thread of its own, and returns when all have
  // returned. If some throw, one of their exceptions is thrown here. `body` calls neither ForEach
  // nor Split, nor a kernel that does.
  static void ForEach(const std::function<void(int part)>& body);

  // Calls body(begin, end) for ranges that make up [0, count), as ForEach does, in so many threads
  // that each has enough to do: in this one only, where another would need longer to begin.
  // operations: multiply-adds of all ranges together; other work is converted to them.
  template <class Body>
  static void Split(int64_t count, int64_t operations, const Body& body) {
    const int64_t num_parts =
        std::min({static_cast<int64_t>(Count()), count, operations / kMinOperationsOfPart});
    if (num_parts <= 1) return body(0, count);
    const auto run = [&](int64_t part) {
      if (part < num_parts) body(part * count / num_parts, (part + 1) * count / num_parts);
    };
    ForEach(std::ref(run));  // a reference, so that nothing is allocated
  }

 private:
  StepTeams* const teams_;
  std::unique_ptr<StepTeam> team_;  // null: the calling thread is alone

  static constexpr int64_t kMinOperationsOfPart = int64_t{1} << 16;
};

// Cost of one value in a kernel without sums of products, in operations of Split.
constexpr int64_t kOperationsOfValue = 16;

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_STEP_THREADS_H_
