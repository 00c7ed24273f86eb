#include "tools/verification/forced_alignment.h"

#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>

namespace runnel {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

void CheckIds(const CtcOutput& output, const std::vector<int32_t>& ids) {
  for (const int32_t id : ids) {
    if (id >= 0 && id < output.vocab_size && id != output.blank_id) continue;
    throw std::invalid_argument("token id to align is " + std::to_string(id) + ", expected 0 to " +
                                std::to_string(output.vocab_size - 1) + " but not the blank, " +
                                std::to_string(output.blank_id));
  }
}

// The states of a frame: state 2 i + 1 emits token i; even states emit the blank before, between
// and after the tokens.
class Lattice {
 public:
  Lattice(const CtcOutput& output, const std::vector<int32_t>& ids)
      : output_(output),
        ids_(ids),
        num_states_(2 * ids.size() + 1),
        scores_(num_states_, kImpossible),
        steps_(static_cast<size_t>(output.num_frames) * num_states_) {}

  // The last state of the best path. Afterwards its score is scores()[state].
  size_t Search() {
    scores_[0] = LogProb(0, 0);
    if (!ids_.empty()) scores_[1] = LogProb(0, 1);
    for (int64_t frame = 1; frame < output_.num_frames; ++frame) {
      // From the last state down, so that the scores read are still those of the previous frame.
      for (size_t state = num_states_; state-- > 0;) Enter(frame, state);
    }
    const size_t last = num_states_ - 1;
    return last > 0 && scores_[last - 1] > scores_[last] ? last - 1 : last;
  }

  const std::vector<double>& scores() const { return scores_; }

  // The tokens on the path that ends in `state`.
  std::vector<AlignedToken> TraceBack(size_t state) const {
    std::vector<AlignedToken> tokens(ids_.size());
    for (int64_t frame = output_.num_frames; frame-- > 0;) {
      if (state % 2 == 1) {
        AlignedToken& token = tokens[state / 2];
        token.first_frame = frame;
        if (token.last_frame < 0) token.last_frame = frame;
      }
      state -= steps_[StepIndex(frame, state)];
    }
    return tokens;
  }

 private:
  size_t StepIndex(int64_t frame, size_t state) const {
    return static_cast<size_t>(frame) * num_states_ + state;
  }

  double LogProb(int64_t frame, size_t state) const {
    const int32_t id = state % 2 == 1 ? ids_[state / 2] : output_.blank_id;
    return output_.log_probs[frame * output_.vocab_size + id];
  }

  // Whether a path may come from two states before: without the blank between two tokens.
  bool MaySkipBlank(size_t state) const {
    return state % 2 == 1 && state >= 3 && ids_[state / 2] != ids_[state / 2 - 1];
  }

  void Enter(int64_t frame, size_t state) {
    double best = scores_[state];
    uint8_t best_step = 0;
    const auto consider = [&](uint8_t step) {
      if (!(scores_[state - step] > best)) return;
      best = scores_[state - step];
      best_step = step;
    };
    if (state >= 1) consider(1);
    if (MaySkipBlank(state)) consider(2);
    scores_[state] = best + LogProb(frame, state);
    steps_[StepIndex(frame, state)] = best_step;
  }

  const CtcOutput& output_;
  const std::vector<int32_t>& ids_;
  const size_t num_states_;
  std::vector<double> scores_;  // of the best path to each state of the current frame
  std::vector<uint8_t> steps_;  // (num_frames, num_states_): states passed to get there
};

}  // namespace

int64_t MinFramesToAlign(const std::vector<int32_t>& ids) {
  auto num_frames = static_cast<int64_t>(ids.size());
  for (size_t i = 1; i < ids.size(); ++i) num_frames += ids[i] == ids[i - 1] ? 1 : 0;
  return num_frames;
}

std::optional<ForcedAlignment> AlignTokens(const CtcOutput& output,
                                           const std::vector<int32_t>& ids) {
  CheckIds(output, ids);
  if (output.num_frames < MinFramesToAlign(ids)) return std::nullopt;
  if (output.num_frames == 0) return ForcedAlignment();
  Lattice lattice(output, ids);
  const size_t last = lattice.Search();
  const double log_prob = lattice.scores()[last];
  if (log_prob == kImpossible) return std::nullopt;
  return ForcedAlignment{log_prob, lattice.TraceBack(last)};
}

}  // namespace runnel
