// What a live stream tells its owner: the text that became known since it last did.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools.
#ifndef RUNNEL_RUNTIME_LIVE_UPDATE_H_
#define RUNNEL_RUNTIME_LIVE_UPDATE_H_

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "runtime/result.h"

namespace runnel {

// The text of the stream is that of all stable_text so far, and then tentative_text. So the cost of
// an update does not grow with the stream.
struct LiveUpdate {
  // Text (UTF-8) that became stable since the update before: no later audio changes it.
  std::string stable_text;
  // What follows the stable text at the moment; takes the place of the one of the update before.
  std::string tentative_text;
  // Bytes of stable text before stable_text: 0 in the first update, which after a Restore or a Fork
  // has the whole text once more.
  size_t stable_size_before = 0;
  // The tokens of stable_text and of tentative_text, in order; the first num_stable_tokens of them
  // are those of stable_text.
  std::vector<Token> tokens;
  size_t num_stable_tokens = 0;
  // The text covers the audio from the start of the stream to here.
  double audio_ms = 0;
  // When the last sample of the newest chunk was accepted, and the time from then until the update
  // was made; without a chunk the clock's epoch, and 0.
  std::chrono::steady_clock::time_point accepted_at{};
  double latency_ms = 0;

  // True in the last update of a stream. Then `nbest` has the results, best first, unless `error`
  // says in one line why there are none.
  bool is_final = false;
  std::vector<Hypothesis> nbest;
  std::string error;

  // Makes one update of this one and the `next`: whoever sees it knows as much as from both.
  void Append(LiveUpdate next);
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_UPDATE_H_
