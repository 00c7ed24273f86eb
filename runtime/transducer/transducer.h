// Predictor and joint network: scores the next token of many hypotheses at a time.
#ifndef RUNNEL_RUNTIME_TRANSDUCER_TRANSDUCER_H_
#define RUNNEL_RUNTIME_TRANSDUCER_TRANSDUCER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "encoder/backend.h"
#include "encoder/rows.h"
#include "runtime/transducer/predictor.h"
#include "runtime/transducer/transducer_config.h"

namespace runnel {

class Weights;

// What the joint network reads of a token sequence, and what continues it. Immutable; hypotheses
// with the same tokens share one.
struct PredictorState {
  Matrix memory;  // (1, Predictor::state_dim)
  Matrix input;   // (1, JointConfig::dim): the predictor's output as the joint network adds it
};

using SharedPredictorState = std::shared_ptr<const PredictorState>;

// A token to append to a sequence. `from` must stay alive during the call.
struct TokenStep {
  const PredictorState* from;
  int32_t token;
};

// One evaluation of the joint network.
struct JointQuery {
  ConstRows encoder;  // a row of ProjectEncoder
  const PredictorState* predictor;
};

// Immutable: every method may be called from several threads at once. On the CPU backend no result
// depends on what else is in the batch.
class Transducer {
 public:
  // Takes the tensors named transducer.*. model_dim: of the encoder frames. Throws
  // std::runtime_error as Weights does. `backend` is used during the call only. end_tokens: ids of
  // those that end an utterance.
  Transducer(const TransducerConfig& config, int64_t model_dim, const EncoderBackend& backend,
             Weights* weights, const std::vector<int32_t>& end_tokens = {});

  const TransducerConfig& config() const { return config_; }

  // Of the empty sequence: the predictor has read one blank.
  const SharedPredictorState& Start() const { return start_; }

  // Whether nothing of what comes before this token counts for the tokens after it.
  bool IsEnd(int32_t token) const { return is_end_[static_cast<size_t>(token)] != 0; }

  // The states after one more token, in the order of `steps`; one pass of the predictor. After an
  // end token, the one of the empty sequence.
  std::vector<SharedPredictorState> Advance(const std::vector<TokenStep>& steps) const;

  // The part of the joint network that depends on the encoder frame only: (rows, model_dim) ->
  // (rows, JointConfig::dim).
  Matrix ProjectEncoder(ConstRows encoder_rows) const;

  // Natural logarithms of the backend's data type, (queries, num_outputs): of the tokens'
  // probabilities in the first vocab_size columns, of the durations' in the others.
  Matrix LogProbs(const std::vector<JointQuery>& queries) const;

  // A state as Start and Advance make them, for VisitState of a snapshot; its values are not set.
  PredictorState MakeState() const;

 private:
  // Steps of these states, which it consumes.
  std::vector<SharedPredictorState> Advance(const std::vector<int32_t>& tokens,
                                            Matrix memories) const;

  TransducerConfig config_;
  DataType type_;
  std::vector<char> is_end_;  // of each token
  std::unique_ptr<const Predictor> predictor_;
  std::unique_ptr<const LinearModule> encoder_linear_;    // null: none
  std::unique_ptr<const LinearModule> predictor_linear_;  // null: none
  std::unique_ptr<const LinearModule> hidden_linear_;     // null: none
  std::unique_ptr<const LinearModule> out_;
  SharedPredictorState start_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TRANSDUCER_TRANSDUCER_H_
