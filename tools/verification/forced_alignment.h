// Forced alignment: the frames in which a model most probably emits a known token sequence.
// Source: Graves et al. 2006, "Connectionist temporal classification", section 4.1. The lattice is
// that of its forward variables, with a maximum in place of the sum (Viterbi algorithm).
#ifndef RUNNEL_TOOLS_VERIFICATION_FORCED_ALIGNMENT_H_
#define RUNNEL_TOOLS_VERIFICATION_FORCED_ALIGNMENT_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace runnel {

// The output of a CTC model for one recording; the memory belongs to another object.
struct CtcOutput {
  // (num_frames, vocab_size) row-major, natural logarithms. Minus infinity is probability zero;
  // NaN and plus infinity are not allowed.
  const float* log_probs = nullptr;
  int64_t num_frames = 0;
  int vocab_size = 0;
  int32_t blank_id = 0;
};

// The frames in which one token is emitted, counted from 0.
struct AlignedToken {
  int64_t first_frame = -1;
  int64_t last_frame = -1;
};

// A path through the frames: the token of `tokens` in its frames, the blank in all others.
struct ForcedAlignment {
  double log_prob = 0;               // of the path
  std::vector<AlignedToken> tokens;  // one per token of the sequence, in order
};

// The fewest frames that can emit the tokens: one for each, and one blank between two equal ones.
int64_t MinFramesToAlign(const std::vector<int32_t>& ids);

// The most probable path that emits `ids`; one of them if there are several. Empty when there are
// fewer than MinFramesToAlign frames, or when every path has probability zero. Throws
// std::invalid_argument when an id is the blank or not below vocab_size. Time and memory:
// O(num_frames * ids.size()), one byte for each of the 2 * ids.size() + 1 states of a frame.
std::optional<ForcedAlignment> AlignTokens(const CtcOutput& output,
                                           const std::vector<int32_t>& ids);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_FORCED_ALIGNMENT_H_
