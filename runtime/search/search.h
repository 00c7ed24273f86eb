// What all searches have in common: the token sequences that they find, and their state.
//
// This folder holds the searches of a stream. Those of a CTC head (ctc_search.h) read log
// probabilities, those of a transducer (transducer_search.h) ask its joint network.
#ifndef RUNNEL_RUNTIME_SEARCH_SEARCH_H_
#define RUNNEL_RUNTIME_SEARCH_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace runnel {

class StateReader;
class StateWriter;

// A token of a hypothesis. Frames are encoder frames since the start of the stream.
struct TokenSpan {
  int32_t id = 0;
  int64_t first_frame = 0;  // frame in which the token is first emitted
  int64_t last_frame = 0;   // last frame in which it is emitted, first_frame or later
  float confidence = 0;     // probability, 0 to 1
};

// For the snapshot of a stream (runtime/snapshot/state_fields.h): a list, each of whose items
// visit_item passes to `fields` as at least `bytes_each` bytes.
template <class List, class Fields, class VisitItem>
void VisitList(List& list, Fields& fields, size_t bytes_each, VisitItem visit_item) {
  const size_t count = fields.Count(list.size(), bytes_each);
  if constexpr (Fields::kReading) list.resize(count);
  for (auto& item : list) visit_item(item);
}

template <class Tokens, class Fields>
void VisitTokens(Tokens& tokens, Fields& fields) {
  constexpr size_t kTokenSize = sizeof(int32_t) + 2 * sizeof(int64_t) + sizeof(float);
  VisitList(tokens, fields, kTokenSize, [&fields](auto& token) {
    fields.Value(token.id);
    fields.Counter(token.first_frame);
    fields.Counter(token.last_frame);
    fields.Value(token.confidence);
  });
}

// Where the tokens of a sequence may be.
enum class TokenOrder {
  kApart,         // each begins after the end of the one before (CTC)
  kSharedFrames,  // several may begin in one frame, and the last one may end later (transducers)
};

// What is wrong with a restored token; "" if nothing is.
std::string TokenIdProblem(int32_t id, int vocab_size, int blank_id);

// What is wrong with restored tokens of frames before `end_frame`; "" if nothing is.
std::string TokenProblem(const std::vector<TokenSpan>& tokens, TokenOrder order, int64_t end_frame,
                         int vocab_size, int blank_id);

// A sequence of tokens and its log probability.
struct TokenSequence {
  std::vector<TokenSpan> tokens;
  double score = 0;
};

// The result does not depend on how the frames are split over calls. Not thread-safe.
//
// With a word list every sequence consists of its words; until Finish it may end within a word.
class Search {
 public:
  virtual ~Search() = default;

  // Ends the utterance. With a word list, only sequences that end with a word, or are empty,
  // remain; without one, nothing changes. StartUtterance or Reset follows, or nothing.
  virtual void Finish() = 0;

  // Forgets all sequences. The next frame given is `first_frame`. If it is num_frames(), a token
  // that the best CTC alignment emits in the last frame may go on: its repetitions in the first
  // frames are no new token. A token is thus not found on both sides of the end of an utterance.
  virtual void StartUtterance(int64_t first_frame) = 0;

  // Forgets all sequences like StartUtterance(num_frames()), but goes on where one of them stands,
  // since the utterance may have been cut within a word. A transducer keeps the state of its
  // predictor. `tokens`: those of the sequence that is handed out, which after rescoring need not
  // be the best one. The best one counts if none has these tokens.
  virtual void ContinueAfter(const std::vector<TokenSpan>& tokens) = 0;

  // Returns to the state after construction.
  virtual void Reset() = 0;

  // Best first; at most `n`, at least one (the empty sequence before any token). Throws
  // std::invalid_argument when n < 1.
  std::vector<TokenSequence> NBest(int n) const;

  // The tokens of the best sequence from index `first` on; empty when it has no more. O(their
  // number).
  virtual std::vector<TokenSpan> BestTokensSince(size_t first) const = 0;

  // Ids of the best sequence so far; cheap, for partial results. Valid until the next call.
  virtual const std::vector<int32_t>& BestIds() const = 0;

  // How many of the first BestIds are *stable*: all sequences begin with them, and no later frame
  // changes that. Only Reset lowers it. O(1).
  virtual size_t NumStableIds() const = 0;

  // The next frame: those before it were given or passed over.
  virtual int64_t num_frames() const = 0;

  // The state, for the snapshot of a stream. Restore reads what Save of a search with the same
  // options wrote. It throws SnapshotError for bytes that are not such a state; the search must
  // then not be used. A state that it accepts is safe to continue from.
  virtual void Save(StateWriter* writer) const = 0;
  virtual void Restore(StateReader* reader) = 0;

 protected:
  // The sequences of NBest: their number, and one by its rank.
  virtual size_t num_sequences() const = 0;
  virtual TokenSequence SequenceAt(size_t rank) const = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_SEARCH_H_
