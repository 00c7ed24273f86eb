// The predictor (prediction network) of a transducer: what it knows of the tokens so far.
#ifndef RUNNEL_RUNTIME_TRANSDUCER_PREDICTOR_H_
#define RUNNEL_RUNTIME_TRANSDUCER_PREDICTOR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "encoder/backend.h"
#include "encoder/rows.h"
#include "runtime/transducer/transducer_config.h"

namespace runnel {

class Weights;

// Immutable: Step may run in several threads at once.
class Predictor {
 public:
  virtual ~Predictor() = default;

  // Values of the state after a token sequence. The state of the empty sequence is all zeros.
  virtual int64_t state_dim() const = 0;
  virtual int64_t output_dim() const = 0;

  // Appends a token to each of several sequences. tokens: ids, the blank's before the first token.
  // states: (tokens, state_dim), advanced in place. outputs: (tokens, output_dim), written. Both of
  // the backend's data type. A row does not depend on the others.
  virtual void Step(const std::vector<int32_t>& tokens, Rows states, Rows outputs) const = 0;
};

// Takes the tensors named transducer.predictor.*. Throws std::runtime_error as Weights does.
// `backend` is used during the call only.
std::unique_ptr<const Predictor> MakePredictor(const TransducerConfig& config,
                                               const EncoderBackend& backend, Weights* weights);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TRANSDUCER_PREDICTOR_H_
