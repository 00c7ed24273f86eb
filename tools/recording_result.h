// What decoding one recording gave.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_RECORDING_RESULT_H_
#define RUNNEL_TOOLS_RECORDING_RESULT_H_

#include <vector>

#include "runtime/result.h"

namespace runnel {

struct RecordingResult {
  std::vector<Hypothesis> hypotheses;  // best first, at least one
  double audio_seconds = 0;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_RECORDING_RESULT_H_
