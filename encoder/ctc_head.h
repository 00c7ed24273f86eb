// The CTC output layer: encoder frames to log probabilities of the model's tokens.
#ifndef RUNNEL_ENCODER_CTC_HEAD_H_
#define RUNNEL_ENCODER_CTC_HEAD_H_

#include <cstdint>
#include <stdexcept>
#include <string>

#include "encoder/rows.h"

namespace runnel {

// Made by a backend (encoder/backend.h). Immutable: LogProbs may run in several threads at once.
class CtcHead {
 public:
  virtual ~CtcHead() = default;

  // (rows, model_dim) -> (rows, vocab_size) natural logarithms, both of the backend's data type.
  // Throws std::invalid_argument for rows of another width.
  virtual Matrix LogProbs(ConstRows encoder_rows) const = 0;

 protected:
  [[noreturn]] static void ThrowWidth(int64_t found, int64_t expected) {
    throw std::invalid_argument("encoder rows are " + std::to_string(found) + " wide, expected " +
                                std::to_string(expected) + ", the input of the CTC layer");
  }
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CTC_HEAD_H_
