#include "runtime/stream/transducer_decoding.h"

#include <cstddef>
#include <stdexcept>
#include <string>

namespace runnel {
namespace {

// A segment and how far its search is.
class Cursor {
 public:
  Cursor(TransducerSegment* segment, int64_t vocab_size)
      : segment_(segment), vocab_size_(vocab_size) {}

  // Goes on to a frame that needs the joint network, and adds its queries; adds none at the end.
  void AddQueries(std::vector<JointQuery>* queries) {
    TransducerSearch& search = *segment_->search;
    while (search.queries().empty() && !is_done()) {
      const float* ctc = segment_->ctc_log_probs;
      search.BeginFrame(ctc == nullptr ? nullptr : ctc + row_ * vocab_size_);
      if (search.queries().empty()) EndFrame();
    }
    num_queries_ = is_done() ? 0 : search.queries().size();
    for (size_t i = 0; i < num_queries_; ++i) {
      queries->push_back({segment_->encoder.Part(row_, 1), search.queries()[i]});
    }
  }

  // Takes the rows of its queries from the front of `log_probs`, and adds the tokens to append.
  void Answer(ConstRows* log_probs, std::vector<TokenStep>* steps) {
    num_steps_ = 0;
    if (num_queries_ == 0) return;
    const auto count = static_cast<int64_t>(num_queries_);
    const float* rows = log_probs->float32();
    *log_probs = log_probs->Part(count, log_probs->count - count);
    try {
      segment_->search->Answer(rows);
    } catch (const std::invalid_argument& error) {
      segment_->error =
          "encoder frame " + std::to_string(segment_->search->num_frames()) + ", " + error.what();
      return;
    }
    num_steps_ = segment_->search->steps().size();
    steps->insert(steps->end(), segment_->search->steps().begin(), segment_->search->steps().end());
  }

  // Takes the states after its tokens. Returns what follows them.
  const SharedPredictorState* TakeStates(const SharedPredictorState* states) {
    if (num_queries_ == 0 || is_done()) return states;
    segment_->search->TakeStates(states);
    if (segment_->search->queries().empty()) EndFrame();
    return states + num_steps_;
  }

 private:
  bool is_done() const { return row_ == segment_->encoder.count || !segment_->error.empty(); }
  void EndFrame() {
    ++row_;
    segment_->after_frame();
  }

  TransducerSegment* segment_;
  int64_t vocab_size_;
  int64_t row_ = 0;
  size_t num_queries_ = 0;  // of this round
  size_t num_steps_ = 0;
};

}  // namespace

void SearchTransducer(const Transducer& transducer, std::vector<TransducerSegment>* segments) {
  std::vector<Cursor> cursors;
  for (TransducerSegment& segment : *segments) {
    cursors.emplace_back(&segment, transducer.config().vocab_size);
  }
  for (;;) {
    std::vector<JointQuery> queries;
    for (Cursor& cursor : cursors) cursor.AddQueries(&queries);
    if (queries.empty()) return;
    const Matrix log_probs = ToFloat32(transducer.LogProbs(queries));
    ConstRows rest = log_probs.rows();
    std::vector<TokenStep> steps;
    for (Cursor& cursor : cursors) cursor.Answer(&rest, &steps);
    const std::vector<SharedPredictorState> states = transducer.Advance(steps);
    const SharedPredictorState* next = states.data();
    for (Cursor& cursor : cursors) next = cursor.TakeStates(next);
  }
}

}  // namespace runnel
