// Threads for work that may block: disks, the snapshot store, audio files. Event loops and decoding
// workers must not block.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_TASK_THREADS_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_TASK_THREADS_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace runnel::server {

// Thread-safe. The tasks of Run, and those of RunFirst, start in the order in which they were
// added.
class TaskThreads {
 public:
  // `max_bytes`: bound on the memory that the tasks declare. `max_tasks`: bound on the waiting
  // tasks of Run, and on those of RunFirst.
  TaskThreads(int num_threads, size_t max_bytes, size_t max_tasks);
  ~TaskThreads();
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  // Adds a task that holds `bytes` of memory. An exception of the task is logged. Returns false,
  // without adding the task, when the threads are stopped, max_tasks tasks wait, or all tasks
  // together would hold more than max_bytes; a task of 0 bytes is not subject to max_bytes.
  bool Run(std::function<void()> task, size_t bytes = 0);

  // Adds a task that a client waits for: it starts before all tasks of Run.
  bool RunFirst(std::function<void()> task);

  // Drops the tasks that have not begun, refuses further ones, and waits for those that run.
  void Stop();

  // Whether Run would accept a task of that size now.
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

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_TASK_THREADS_H_
