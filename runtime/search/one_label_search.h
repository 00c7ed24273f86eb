// Beam searches of a transducer that give every frame one label.
#ifndef RUNNEL_RUNTIME_SEARCH_ONE_LABEL_SEARCH_H_
#define RUNNEL_RUNTIME_SEARCH_ONE_LABEL_SEARCH_H_

#include <memory>
#include <utility>
#include <vector>

#include "runtime/search/transducer_beam_search.h"

namespace runnel {

// In every frame each hypothesis takes one label, a token or the blank. The probability of a label
// is (1 - w) p_transducer + w p_CTC, where w is SearchOptions::ctc_weight.
class OneLabelSearch : public TransducerBeamSearch {
 public:
  void BeginFrame(const float* ctc_log_probs) override;
  void Answer(const float* log_probs) override;

 protected:
  OneLabelSearch(const SearchOptions& options, const Transducer& transducer, int length_offset,
                 double ctc_weight);

  // The hypotheses of the next frame, of candidates_.
  virtual std::vector<Hypothesis> Select() = 0;
  std::vector<Hypothesis> MergeCandidates();

  std::vector<Candidate> candidates_;  // of all hypotheses, those of one after the other

 private:
  int64_t FrameAfter(const TokenSpan& last) const override { return last.last_frame + 1; }
  void Continue(std::vector<Hypothesis> hypotheses) override { EndFrame(std::move(hypotheses)); }
  bool fuses() const { return ctc_weight_ > 0 && ctc_log_probs_ != nullptr; }
  const float* Fuse(const float* log_probs);

  double ctc_weight_;
  const float* ctc_log_probs_ = nullptr;  // of the frame
  std::vector<float> fused_;
};

// The beam_size best candidates are kept, and then equal ones are merged, so that fewer may remain.
// The result is ranked by score / (length + 2). icefall's modified_beam_search, also sherpa-onnx's.
class ModifiedBeamSearch final : public OneLabelSearch {
 public:
  ModifiedBeamSearch(const SearchOptions& options, const Transducer& transducer);
  std::unique_ptr<TransducerSearch> Clone() const override;

 private:
  std::vector<Hypothesis> Select() override;
};

// Equal candidates are merged, and then the beam_size best are kept. The result is ranked by its
// score. WeNet's prefix_beam_search of transducers.
class PrefixMergingSearch final : public OneLabelSearch {
 public:
  PrefixMergingSearch(const SearchOptions& options, const Transducer& transducer);
  std::unique_ptr<TransducerSearch> Clone() const override;

 private:
  std::vector<Hypothesis> Select() override;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_ONE_LABEL_SEARCH_H_
