#include "tools/server/resources/task_threads.h"

#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include "tools/server/resources/rated_log.h"

namespace runnel::server {
namespace {

// What a task is expected to take, in seconds; its client is charged the difference.
constexpr double kUsualTask = 0.001;
// Tasks of RunFirst that start while one of Run waits.
constexpr int kMostFirst = 3;

}  // namespace

TaskThreads::TaskThreads(int max_threads, size_t max_bytes, size_t max_tasks)
    : max_threads_(static_cast<size_t>(max_threads)),
      max_bytes_(max_bytes),
      max_tasks_(max_tasks) {}

TaskThreads::~TaskThreads() { Stop(); }

void TaskThreads::Stop() {
  Queue dropped_first;  // destroyed outside the lock
  Queue dropped;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
    std::swap(dropped_first, first_);
    std::swap(dropped, queue_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool TaskThreads::Run(std::function<void()> task, const std::string& client, size_t bytes) {
  return Add({std::move(task), bytes}, client, &queue_);
}

bool TaskThreads::RunFirst(std::function<void()> task, const std::string& client) {
  return Add({std::move(task), 0}, client, &first_);
}

bool TaskThreads::Add(Task task, const std::string& client, Queue* queue) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t bytes = task.bytes;
    if (stops_ || !HasRoomIn(*queue, bytes, client)) return false;
    // First, because it may throw.
    if (first_.tasks.size() + queue_.tasks.size() >= num_idle_) StartThread();
    queue->tasks.Push(client, std::move(task), kUsualTask);
    bytes_ += bytes;
    Held& held = queue->held[client];
    ++held.num_tasks;
    held.num_bytes += bytes;
  }
  changed_.notify_one();
  return true;
}

// The system may refuse a further thread: then the others take the task.
void TaskThreads::StartThread() {
  if (threads_.size() >= max_threads_) return;
  try {
    threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error& error) {
    if (threads_.empty()) throw;
    LogRated(LogLevel::kWarning, "no further thread", error.what());
  }
}

bool TaskThreads::HasRoom(size_t bytes, const std::string& client) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return HasRoomIn(queue_, bytes, client);
}

bool TaskThreads::HasRoomIn(const Queue& queue, size_t bytes, const std::string& client) const {
  const auto fits = [bytes](size_t num_tasks, size_t num_bytes, size_t max_tasks,
                            size_t max_bytes) {
    return num_tasks < max_tasks && (bytes == 0 || num_bytes + bytes <= max_bytes);
  };
  if (!fits(queue.tasks.size(), bytes_, max_tasks_, max_bytes_)) return false;
  const auto found = queue.held.find(client);
  if (client.empty() || found == queue.held.end()) return true;  // one task is never too much
  return fits(found->second.num_tasks, found->second.num_bytes, max_tasks_ / kShares,
              max_bytes_ / kShares);
}

void TaskThreads::Release(Queue* queue, const std::string& client, Held released) {
  const auto found = queue->held.find(client);
  if (found == queue->held.end()) return;  // after Stop
  found->second.num_tasks -= released.num_tasks;
  found->second.num_bytes -= released.num_bytes;
  if (found->second.num_tasks == 0 && found->second.num_bytes == 0) queue->held.erase(found);
}

// The queue whose task starts next; one of them has a task.
TaskThreads::Queue* TaskThreads::Next() {
  const bool is_first = !first_.tasks.empty() && (queue_.tasks.empty() || num_first_ < kMostFirst);
  num_first_ = is_first ? num_first_ + 1 : 0;
  return is_first ? &first_ : &queue_;
}

void TaskThreads::Work() {
  using Clock = std::chrono::steady_clock;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    ++num_idle_;
    changed_.wait(lock,
                  [this] { return stops_ || !first_.tasks.empty() || !queue_.tasks.empty(); });
    --num_idle_;
    if (stops_) return;
    Queue* queue = Next();
    std::string client;
    Task task = queue->tasks.Pop(&client);
    Release(queue, client, {1, 0});
    lock.unlock();
    const Clock::time_point start = Clock::now();
    try {
      task.work();
    } catch (const std::exception& error) {
      LogRated(LogLevel::kError, "task failed", error.what());
    }
    task.work = nullptr;  // frees the memory before its bytes are given back
    const std::chrono::duration<double> used = Clock::now() - start;
    lock.lock();
    bytes_ -= task.bytes;
    Release(queue, client, {0, task.bytes});
    queue->tasks.Charge(client, used.count() - kUsualTask);
  }
}

}  // namespace runnel::server
