// The interface that receives the results of a list of recordings while they are decoded.
#ifndef RUNNEL_TOOLS_DECODE_DECODE_LISTENER_H_
#define RUNNEL_TOOLS_DECODE_DECODE_LISTENER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.h"

namespace runnel {

// The audio of a recording that was decoded to its end.
struct DecodedAudio {
  double seconds = 0;
  std::vector<std::string> warnings;  // AudioSource::Warnings
};

// `index` is the position of a recording in the list. Methods are called by several threads at
// once, but for one recording one after another, OnEnd or OnFailure last. An exception that a
// method throws ends the whole run.
class DecodeListener {
 public:
  virtual ~DecodeListener() = default;

  // `seconds` more of the audio have been read. `part`: what has been read of the recording, 0 to
  // 1; 0 where its length is not known.
  virtual void OnAudio(size_t index, double seconds, double part) = 0;

  // A chunk has changed the best text of an utterance, which OnUtterance has not reported yet.
  virtual void OnPartial(size_t index, int64_t utterance_index, const std::string& text) = 0;

  // An utterance has ended. They come in order; without endpoints there is one, before OnEnd.
  virtual void OnUtterance(size_t index, const Utterance& utterance) = 0;

  virtual void OnEnd(size_t index, const DecodedAudio& audio) = 0;

  // The recording could not be read or decoded; `message` is one line.
  virtual void OnFailure(size_t index, const std::string& message) = 0;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_DECODE_LISTENER_H_
