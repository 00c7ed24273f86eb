// Threads for work that waits: disks, stores, audio files. Event loops and decoding workers never
// do. Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_TASK_THREADS_H_
#define RUNNEL_TOOLS_SERVER_TASK_THREADS_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace runnel::server {

// Thread-safe. Tasks of each kind start in the order in which they came.
class TaskThreads {
 public:
  // `max_bytes`: what waiting tasks may hold in memory, as far as they say so; `max_tasks`: so many
  // of each kind wait, so that those of Run never keep one of RunFirst out.
  TaskThreads(int num_threads, size_t max_bytes, size_t max_tasks);
  ~TaskThreads();
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  // What `task` throws is logged. False, and nothing happens, when the threads are stopped, too
  // many of Run's tasks wait, or they would hold more than max_bytes; the latter does not concern
  // tasks of 0 bytes.
  bool Run(std::function<void()> task, size_t bytes = 0);

  // The same for a task that somebody waits for: it starts before all of Run's.
  bool RunFirst(std::function<void()> task);

  // Drops what has not begun, now and from now on, and waits for what has.
  void Stop();

  // Whether Run would take a task of that size now.
  bool HasRoom(size_t bytes) const;

 private:
  struct Task {
    std::function<void()> work;
    size_t bytes = 0;
  };

  bool Add(Task task, std::deque<Task>* tasks);
  void Work();

  const size_t max_bytes_;
  const size_t max_tasks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> first_tasks_;
  std::deque<Task> tasks_;
  size_t bytes_ = 0;  // of tasks that wait or run
  bool stops_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TASK_THREADS_H_
