// Advances the transducer searches of many streams together.
#ifndef RUNNEL_RUNTIME_STREAM_TRANSDUCER_DECODING_H_
#define RUNNEL_RUNTIME_STREAM_TRANSDUCER_DECODING_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "encoder/rows.h"
#include "runtime/search/transducer_search.h"
#include "runtime/transducer/transducer.h"

namespace runnel {

// One stream's part of a step.
struct TransducerSegment {
  TransducerSearch* search = nullptr;
  ConstRows encoder;                     // the new frames, rows of Transducer::ProjectEncoder
  const float* ctc_log_probs = nullptr;  // (rows, vocab_size) of the same frames; null: none
  std::function<void()> after_frame;     // called when a frame is complete; may start an utterance
  std::string error;                     // why the search failed; "" while it goes on
};

// Gives each search all rows of its segment. Label looping: every round evaluates the joint network
// once for all hypotheses of all streams, and the predictor once for all tokens that they emit.
// Streams go through their frames independently, so there are as many rounds as the stream with the
// most frames and tokens needs. A stream's results do not depend on the others (on the CPU backend
// to the bit).
void SearchTransducer(const Transducer& transducer, std::vector<TransducerSegment>* segments);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_TRANSDUCER_DECODING_H_
