// The result of decoding one recording, and the interface that receives the results of a list.
#ifndef RUNNEL_TOOLS_DECODE_RECORDING_RESULT_H_
#define RUNNEL_TOOLS_DECODE_RECORDING_RESULT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/result.h"

namespace runnel {

struct RecordingResult {
  std::vector<Hypothesis> hypotheses;  // best first, at least one
  double audio_seconds = 0;
  // According to the file's header, if it has a length. More than audio_seconds if the file was cut
  // off.
  std::optional<double> announced_seconds;
};

// `index` is the position of a recording in the list. Methods are called by several threads at
// once, but for one recording one after another, OnResult or OnFailure last. An exception that a
// method throws ends the whole run.
class DecodeListener {
 public:
  virtual ~DecodeListener() = default;

  // Audio that has been read.
  virtual void OnAudio(double seconds) = 0;

  // A chunk has changed the best text so far.
  virtual void OnPartial(size_t index, const std::string& text) = 0;

  virtual void OnResult(size_t index, const RecordingResult& result) = 0;

  // The recording could not be read or decoded; `message` is one line.
  virtual void OnFailure(size_t index, const std::string& message) = 0;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_RECORDING_RESULT_H_
