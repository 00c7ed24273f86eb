// A bound on the work that an input of a fuzzer may cause: linear in its size.
#ifndef RUNNEL_TESTS_FUZZ_WORK_BOUND_H_
#define RUNNEL_TESTS_FUZZ_WORK_BOUND_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include "tests/fuzz/require.h"

namespace runnel::fuzz {

#if defined(__SANITIZE_ADDRESS__)
constexpr double kSlowness = 10;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr double kSlowness = 10;
#else
constexpr double kSlowness = 1;
#endif
#else
constexpr double kSlowness = 1;
#endif

// Processor time, which other programs do not use up, between construction and Holds.
class WorkBound {
 public:
  // `clock`: CLOCK_THREAD_CPUTIME_ID, or that of the whole process.
  explicit WorkBound(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) : clock_(clock), start_(Now()) {}

  // Whether at most `allowed_s` were used, in seconds of a build without sanitizer.
  bool Holds(double allowed_s) const {
    const double used_s = Now() - start_;
    const double bound_s = kSlowness * allowed_s;
    if (used_s > bound_s) std::fprintf(stderr, "%.3f s, expected %.3f s\n", used_s, bound_s);
    return used_s <= bound_s;
  }

 private:
  double Now() const {
    timespec time = {};
    ::clock_gettime(clock_, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  const clockid_t clock_;
  const double start_;
};

// Where WorkBound does not hold: tries the input again, because a virtual machine counts the time
// for which its host stops it. Requires that the bound holds in one of a few trials.
inline int TryAgain(int (*test_one_input)(const uint8_t*, size_t), const uint8_t* data,
                    size_t size) {
  static int num_failures = 0;
  Require(++num_failures < 5, "the work is linear in the input");
  const int result = test_one_input(data, size);
  num_failures = 0;
  return result;
}

}  // namespace runnel::fuzz

#endif  // RUNNEL_TESTS_FUZZ_WORK_BOUND_H_
