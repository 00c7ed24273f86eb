// Fuzzing without the program media_decoder, of which each input would start a process. What it
// reads has tests of its own: test_media_decoder.py, fuzz_media_replies.
#ifndef RUNNEL_TESTS_FUZZ_WITHOUT_MEDIA_H_
#define RUNNEL_TESTS_FUZZ_WITHOUT_MEDIA_H_

#include <cstdlib>

#include "tests/fuzz/require.h"

namespace runnel::fuzz {

// Recordings that media_decoder would decode are refused from now on.
inline void DecodeWithoutMedia() {
  static const int error = ::setenv("RUNNEL_MEDIA_DECODER", "/nonexistent", 1);
  Require(error == 0, "an environment");
}

}  // namespace runnel::fuzz

#endif  // RUNNEL_TESTS_FUZZ_WITHOUT_MEDIA_H_
