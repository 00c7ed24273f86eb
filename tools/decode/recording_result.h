// What happens while recordings are decoded, for whoever prints it.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_DECODE_LISTENER_H_
#define RUNNEL_TOOLS_DECODE_LISTENER_H_

#include <cstddef>
#include <string>

#include "tools/recording_result.h"

namespace runnel {

// `index` counts recordings in the order of the list. Methods are called from several threads at
// once; those of one recording one after the other, OnResult or OnFailure last. What they throw
// ends the whole run.
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

#endif  // RUNNEL_TOOLS_DECODE_LISTENER_H_
