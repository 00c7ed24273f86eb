// The assertion of fuzzers.
#ifndef RUNNEL_TESTS_FUZZ_REQUIRE_H_
#define RUNNEL_TESTS_FUZZ_REQUIRE_H_

#include <cstdio>
#include <cstdlib>

namespace runnel::fuzz {

// Unless `holds`, aborts the process, which libFuzzer and replay_corpus.cc report as a finding.
inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "required, but not so: %s\n", what);
  std::abort();
}

}  // namespace runnel::fuzz

#endif  // RUNNEL_TESTS_FUZZ_REQUIRE_H_
