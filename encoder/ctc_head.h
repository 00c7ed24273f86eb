// The CTC output layer: encoder frames to log probabilities of the model's tokens.
#ifndef RUNNEL_ENCODER_CTC_HEAD_H_
#define RUNNEL_ENCODER_CTC_HEAD_H_

#include "encoder/rows.h"

namespace runnel {

// Made by a backend (encoder/backend.h). Immutable: LogProbs may run in several threads at once.
class CtcHead {
 public:
  virtual ~CtcHead() = default;

  // (rows, model_dim) -> (rows, vocab_size) natural logarithms, both of the backend's data type.
  // Throws std::invalid_argument for rows of another width.
  virtual Matrix LogProbs(ConstRows encoder_rows) const = 0;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CTC_HEAD_H_
