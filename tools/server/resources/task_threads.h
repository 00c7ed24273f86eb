// Threads for work that may block: disks, the snapshot store, audio files. Event loops and decoding
// workers must not block.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_TASK_THREADS_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_TASK_THREADS_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/live/fair_queue.h"

namespace runnel::server {

// Thread-safe. Threads take turns between clients by the time that their tasks have used
// (FairQueue). The tasks of one client in Run, and those in RunFirst, start in the order in which
// they were added.
class TaskThreads {
 public:
  static constexpr size_t kShares = 4;

  // A thread starts when a task has none, up to `max_threads`. `max_bytes`: bound on the memory
  // that the tasks declare. `max_tasks`: bound on the waiting tasks of Run, and on those of
  // RunFirst. One client may have 1 / kShares of each bound.
  TaskThreads(int max_threads, size_t max_bytes, size_t max_tasks);
  ~TaskThreads();
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  // Adds a task that holds `bytes` of memory. An exception of the task is logged. Returns false,
  // without adding the task, when the threads are stopped, max_tasks tasks wait, all tasks together
  // would hold more than max_bytes, or the client's would exceed its share; a task of 0 bytes is
  // not subject to max_bytes. `client`: whose turn the task takes, "" for the server itself, which
  // may use all.
  bool Run(std::function<void()> task, const std::string& client, size_t bytes = 0);

  // Adds a task that a client waits for. While both kinds wait, three of these start for each task
  // of Run, so that neither kind keeps the other from starting.
  bool RunFirst(std::function<void()> task, const std::string& client);

  // Drops the tasks that have not begun, refuses further ones, and waits for those that run.
  void Stop();

  // Whether Run would accept a task of the client of that size now.
  bool HasRoom(size_t bytes, const std::string& client) const;

 private:
  struct Task {
    std::function<void()> work;
    size_t bytes = 0;
  };

  // Of a client, in one of the queues.
  struct Held {
    size_t num_tasks = 0;  // that wait
    size_t num_bytes = 0;  // of tasks that wait or run
  };
  struct Queue {
    FairQueue<Task> tasks;
    std::unordered_map<std::string, Held> held;  // of clients that hold something
  };

  bool Add(Task task, const std::string& client, Queue* queue);
  bool HasRoomIn(const Queue& queue, size_t bytes, const std::string& client) const;
  static void Release(Queue* queue, const std::string& client, Held released);
  void StartThread();
  Queue* Next();
  void Work();

  const size_t max_threads_;
  const size_t max_bytes_;
  const size_t max_tasks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Queue first_;        // of RunFirst
  Queue queue_;        // of Run
  int num_first_ = 0;  // tasks of first_ that were taken since one of queue_ was
  size_t bytes_ = 0;   // of tasks that wait or run
  bool stops_ = false;
  size_t num_idle_ = 0;  // threads
  std::vector<std::thread> threads_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_TASK_THREADS_H_
