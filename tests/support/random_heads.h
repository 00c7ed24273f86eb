// Models with every kind of head: the encoder of the tiny model, and heads of random weights.
#ifndef RUNNEL_TESTS_SUPPORT_RANDOM_HEADS_H_
#define RUNNEL_TESTS_SUPPORT_RANDOM_HEADS_H_

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "encoder/rows.h"
#include "runtime/model.h"
#include "runtime/stream.h"

namespace runnel::testing {

enum class Heads {
  kLstm,       // RNN-T, LSTM of two layers
  kTdt,        // TDT with durations of 0 to 4 frames; a token is a punctuation mark, one a tag
  kStateless,  // convolution, one label per frame, beam of icefall
  kHybrid,     // embeddings, beam of WeNet; and CTC
  kPrompt,     // LSTM with a language prompt; and CTC
  kDecoder,    // LSTM, CTC, and attention decoders in both directions
  kKinds       // LSTM and CTC; a token is <EOU>, one a byte, and there are two languages
};

inline std::vector<Heads> AllHeads() {
  return {Heads::kLstm,   Heads::kTdt,     Heads::kStateless, Heads::kHybrid,
          Heads::kPrompt, Heads::kDecoder, Heads::kKinds};
}

std::string NameOf(Heads heads);

// Loaded once per process; not thread-safe. NoiseOfChangingLevel has three to 24 tokens per second,
// of 25 encoder frames.
std::shared_ptr<const Model> ModelWith(Heads heads, Precision precision = Precision::kFloat32);

// Every search that the model has: of each head greedy and each beam, with hotwords, with the CTC
// head's probabilities in those of the transducer, and rescored. Each with endpoints
// (WithEndpoints) and without, of any language.
std::vector<StreamOptions> AllOptions(const Model& model);

// For SCOPED_TRACE: what differs between AllOptions.
std::string DescribeSearch(const StreamOptions& options);

// The encoder frames of all samples as the heads read them, computed at once under the chunk mask
// of the options: (frames, model_dim).
Matrix EncoderFramesAtOnce(const Model& model, const std::vector<float>& samples,
                           const StreamOptions& options);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RANDOM_HEADS_H_
