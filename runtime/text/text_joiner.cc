#include "runtime/text_joiner.h"

namespace runnel {

std::string TextJoiner::Add(const Hypothesis& next) {
  at_boundary_ = at_boundary_ || next.begins_word;
  std::string added;
  if (!next.text.empty()) {
    added = (at_boundary_ && !is_empty_ ? " " : "") + next.text;
    is_empty_ = at_boundary_ = false;
  }
  at_boundary_ = at_boundary_ || next.ends_word;
  return added;
}

}  // namespace runnel
