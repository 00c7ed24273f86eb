#include "tools/cli/run_in_threads.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace runnel {

int ThreadsOrCores(int num_threads) {
  return num_threads > 0 ? num_threads
                         : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void RunInThreads(int num_threads, const std::function<void()>& work,
                  const std::function<void()>& stop) {
  std::mutex mutex;
  std::exception_ptr first_failure;
  const auto record_failure = [&](const std::exception_ptr& failure) {
    stop();
    const std::lock_guard<std::mutex> lock(mutex);
    if (!first_failure) first_failure = failure;
  };
  std::vector<std::thread> threads;
  try {
    for (int i = 0; i < num_threads; ++i) {
      threads.emplace_back([&] {
        try {
          work();
        } catch (...) {
          record_failure(std::current_exception());
        }
      });
    }
  } catch (const std::system_error& error) {
    record_failure(std::make_exception_ptr(
        std::runtime_error("cannot start thread " + std::to_string(threads.size() + 1) + " of " +
                           std::to_string(num_threads) + ": " + error.code().message())));
  }
  for (std::thread& thread : threads) thread.join();
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace runnel
