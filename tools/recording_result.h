// What decoding one recording gave.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_RECORDING_RESULT_H_
#define RUNNEL_TOOLS_RECORDING_RESULT_H_

#include <optional>
#include <vector>

#include "runtime/result.h"

namespace runnel {

struct RecordingResult {
  std::vector<Hypothesis> hypotheses;  // best first, at least one
  double audio_seconds = 0;
  // By the file's header, if it says so: more than audio_seconds if the recording was cut off.
  std::optional<double> announced_seconds;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_RECORDING_RESULT_H_
