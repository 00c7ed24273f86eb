// How far tests walk at random.
#ifndef RUNNEL_TESTS_SUPPORT_RANDOM_STEPS_H_
#define RUNNEL_TESTS_SUPPORT_RANDOM_STEPS_H_

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace runnel::testing {

// The number of steps: `usual`, or what the environment variable RUNNEL_TEST_STEPS says, for a long
// run.
inline int64_t RandomSteps(int64_t usual) {
  const char* steps = std::getenv("RUNNEL_TEST_STEPS");
  return steps == nullptr ? usual : std::stoll(steps);
}

// A seed for them: fixed, or another one each time in a long run.
inline uint64_t RandomSeed(uint64_t usual) {
  return std::getenv("RUNNEL_TEST_STEPS") == nullptr ? usual : std::random_device()();
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RANDOM_STEPS_H_
