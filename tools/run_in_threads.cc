#include "tools/run_in_threads.h"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/threads.h"

namespace runnel {

void RunInThreads(int num_threads, const std::function<void()>& work,
                  const std::function<void()>& stop) {
  std::mutex mutex;
  std::exception_ptr first_failure;
  const auto record_failure = [&] {
    stop();
    const std::lock_guard<std::mutex> lock(mutex);
    if (!first_failure) first_failure = std::current_exception();
  };
  std::vector<std::thread> threads;
  try {
    for (int i = 0; i < num_threads; ++i) {
      threads.emplace_back([&] {
        try {
          SetThreadsPerOperation(1);
          work();
        } catch (...) {
          record_failure();
        }
      });
    }
  } catch (...) {
    record_failure();
  }
  for (std::thread& thread : threads) thread.join();
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace runnel
