// Tokens with times.
#ifndef RUNNEL_TESTS_SUPPORT_TIMED_TOKENS_H_
#define RUNNEL_TESTS_SUPPORT_TIMED_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/result.h"

namespace runnel::testing {

// Token i starts at 100 i ms and lasts 40 ms. Its probability depends on i % 8.
inline std::vector<Token> Timed(const std::vector<int32_t>& ids) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto k = static_cast<double>(i);
    tokens.push_back({ids[i], 100 * k, 100 * k + 40, 0.9F - 0.1F * static_cast<float>(i % 8)});
  }
  return tokens;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_TIMED_TOKENS_H_
