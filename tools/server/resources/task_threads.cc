#include "tools/server/resources/task_threads.h"

#include <glog/logging.h>

#include <exception>
#include <utility>

#include "runtime/text/first_line.h"
#include "runtime/threads.h"

namespace runnel::server {

TaskThreads::TaskThreads(int num_threads, size_t max_bytes, size_t max_tasks)
    : max_bytes_(max_bytes), max_tasks_(max_tasks) {
  for (int i = 0; i < num_threads; ++i) threads_.emplace_back([this] { Work(); });
}

TaskThreads::~TaskThreads() { Stop(); }

void TaskThreads::Stop() {
  std::deque<Task> dropped_first;  // outside the lock
  std::deque<Task> dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
    dropped_first.swap(first_tasks_);
    dropped.swap(tasks_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool TaskThreads::Run(std::function<void()> task, size_t bytes) {
  return Add({std::move(task), bytes}, &tasks_);
}

bool TaskThreads::RunFirst(std::function<void()> task) {
  return Add({std::move(task), 0}, &first_tasks_);
}

bool TaskThreads::Add(Task task, std::deque<Task>* tasks) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t bytes = task.bytes;
    if (stops_ || tasks->size() >= max_tasks_ || (bytes > 0 && bytes_ + bytes > max_bytes_)) {
      return false;
    }
    tasks->push_back(std::move(task));
    bytes_ += bytes;
  }
  changed_.notify_one();
  return true;
}

bool TaskThreads::HasRoom(size_t bytes) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return tasks_.size() < max_tasks_ && bytes_ + bytes <= max_bytes_;
}

void TaskThreads::Work() {
  SetThreadsPerOperation(1);
  for (;;) {
    Task task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stops_ || !first_tasks_.empty() || !tasks_.empty(); });
      if (stops_) return;
      std::deque<Task>& tasks = first_tasks_.empty() ? tasks_ : first_tasks_;
      task = std::move(tasks.front());
      tasks.pop_front();
    }
    try {
      task.work();
    } catch (const std::exception& error) {
      LOG(ERROR) << "task: " << FirstLine(error.what());
    }
    task.work = nullptr;  // frees the memory before its bytes are given back
    const std::lock_guard<std::mutex> lock(mutex_);
    bytes_ -= task.bytes;
  }
}

}  // namespace runnel::server
