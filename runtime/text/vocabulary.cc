#include "runtime/text/vocabulary.h"

#include <stdexcept>
#include <string>

namespace runnel {

void CheckVocabulary(int vocab_size, int blank_id) {
  if (vocab_size < 1) {
    throw std::invalid_argument("vocab_size must be at least 1, got " + std::to_string(vocab_size));
  }
  if (blank_id < 0 || blank_id >= vocab_size) {
    throw std::invalid_argument("blank_id must be 0 to " + std::to_string(vocab_size - 1) +
                                ", got " + std::to_string(blank_id));
  }
}

}  // namespace runnel
