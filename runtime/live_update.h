// What a live stream reports to its owner: the text that became known since the last update.
#ifndef RUNNEL_RUNTIME_LIVE_UPDATE_H_
#define RUNNEL_RUNTIME_LIVE_UPDATE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.h"

namespace runnel {

// An update brings the utterances that ended since the previous one, and then the text of the
// utterance that is spoken now. That text is the stable_text of all updates with its
// utterance_index, followed by the tentative_text of the newest one. The cost of an update
// therefore does not grow with the stream.
struct LiveUpdate {
  // In order, each once.
  std::vector<Utterance> utterances;
  // Of the texts and tokens below. In the last update: of the last utterance.
  int64_t utterance_index = 0;
  // Text (UTF-8) that became stable since the previous update. Later audio does not change it.
  std::string stable_text;
  // The text after the stable text. It replaces the tentative_text of the previous update.
  std::string tentative_text;
  // Of the whole text so far, as Hypothesis::begins_word.
  bool begins_word = false;
  // Bytes of the utterance's stable text before stable_text. 0 in the first update of an utterance,
  // and when a rule that ends an utterance found no text and it begins anew. The first update after
  // a Restore or a Fork repeats the whole text of the utterance.
  size_t stable_size_before = 0;
  // The tokens of stable_text, num_stable_tokens of them, followed by those of tentative_text.
  std::vector<Token> tokens;
  size_t num_stable_tokens = 0;
  size_t stable_tokens_before = 0;  // as stable_size_before, in tokens
  // Calls of LiveStream::FinalizeUtterance that ended no utterance, because no encoder frame was
  // complete since the last one ended. Every other call brought an utterance.
  int64_t num_empty_finalizations = 0;
  // The text covers the first audio_ms milliseconds of the stream.
  double audio_ms = 0;
  // When the last sample of the newest chunk was accepted, and the time from then until this update
  // was made. Without a chunk: the epoch of the clock, and 0.
  std::chrono::steady_clock::time_point accepted_at{};
  double latency_ms = 0;

  // True in the last update of a stream. The last utterance is then the last of `utterances`, or
  // `error` says in one line why there is none.
  bool is_final = false;
  std::string error;

  // Merges the `next` update of the same stream into this one.
  void Append(LiveUpdate next);
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_UPDATE_H_
