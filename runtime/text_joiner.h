// Joins the texts of utterances.
#ifndef RUNNEL_RUNTIME_TEXT_JOINER_H_
#define RUNNEL_RUNTIME_TEXT_JOINER_H_

#include <string>

#include "runtime/result.h"

namespace runnel {

// The texts of a stream's utterances as one text, utterance by utterance. A space parts two texts
// only at a word boundary: a word that the end of an utterance has cut is whole again, and text
// without word boundaries gets no spaces. Not thread-safe.
class TextJoiner {
 public:
  // Returns what the next utterance adds, given its best hypothesis: the text, after a space where
  // there is one; "" without text.
  std::string Add(const Hypothesis& next);

 private:
  bool is_empty_ = true;
  bool at_boundary_ = false;  // of a word
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_JOINER_H_
