// Where tests find recordings and reference values that are too large for the repository.
#ifndef RUNNEL_TESTS_SUPPORT_SHARED_DATA_H_
#define RUNNEL_TESTS_SUPPORT_SHARED_DATA_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace runnel {

// Path of `relative` below the shared data, e.g. SharedData("fsdd/recordings"). It need not exist.
inline std::string SharedData(const std::string& relative) {
  return (std::filesystem::path(RUNNEL_SHARED_DATA_DIR) / relative).string();
}

// True where absent shared data is a failure, not a reason to skip (environment CI=true).
inline bool SharedDataRequired() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string(ci) == "true";
}

}  // namespace runnel

// Ends the test body unless `relative` exists below the shared data: the test is skipped, or fails
// when CI=true. Use it as the first statement of a test that needs that file or folder.
#define RUNNEL_REQUIRE_SHARED_DATA(relative)                                     \
  do {                                                                           \
    if (!std::filesystem::exists(runnel::SharedData(relative))) {                \
      if (runnel::SharedDataRequired()) {                                        \
        FAIL() << "shared data is absent: " << runnel::SharedData(relative);     \
      }                                                                          \
      GTEST_SKIP() << "shared data is absent: " << runnel::SharedData(relative); \
    }                                                                            \
  } while (false)

#endif  // RUNNEL_TESTS_SUPPORT_SHARED_DATA_H_
