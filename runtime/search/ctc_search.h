// The seam between the CTC head and text: an incremental search over frames of log probabilities.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools. A stream owns one search.
#ifndef RUNNEL_RUNTIME_CTC_SEARCH_H_
#define RUNNEL_RUNTIME_CTC_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace runnel {

class Lexicon;
class StateReader;
class StateWriter;

// A token of a hypothesis, in encoder frames since the start of the stream.
struct TokenSpan {
  int32_t id = 0;
  int64_t first_frame = 0;  // frame in which the token is first emitted
  int64_t last_frame = 0;   // last frame in which it is emitted, first_frame or later
  float confidence = 0;     // probability, 0 to 1
};

// A sequence of tokens and its log probability.
struct TokenSequence {
  std::vector<TokenSpan> tokens;
  double score = 0;
};

enum class SearchMethod { kGreedy, kPrefixBeam };

struct SearchOptions {
  // Far more prefixes than help; without a bound, a mistyped number would take all memory.
  static constexpr int kMaxBeamSize = 10000;

  SearchMethod method = SearchMethod::kGreedy;
  int beam_size = 8;    // prefixes kept per frame (kPrefixBeam); 1 to kMaxBeamSize
  int token_beam = 20;  // most probable tokens looked at per frame (kPrefixBeam); at least 1
  // Only sequences of these words (kPrefixBeam); null: any tokens. The token_beam most probable are
  // then those that may follow each prefix, however improbable beside others.
  std::shared_ptr<const Lexicon> lexicon;

  // Throws std::invalid_argument naming field, value and range, or the fields that do not go
  // together.
  void Validate() const;
};

// Feeding the same frames in any split gives the same result. Not thread-safe; copy with Clone.
//
// With a lexicon every sequence is one that words begin with; until Finish it may end within one.
class CtcSearch {
 public:
  virtual ~CtcSearch() = default;

  // log_probs: (num_frames, vocab_size) row-major, natural logarithm; minus infinity is probability
  // zero. Throws std::invalid_argument, and has changed nothing, when a value is NaN or plus
  // infinity or every token of a frame has probability zero.
  virtual void Advance(const float* log_probs, int64_t num_frames) = 0;

  // Declares that the audio ends here. With a lexicon, what is left are the sequences that end with
  // a word, or that are empty; without, nothing changes. Frames that come after all go on from what
  // is left.
  virtual void Finish() = 0;

  // Best first; at most `n`, at least one (the empty sequence before any token). Throws
  // std::invalid_argument when n < 1.
  virtual std::vector<TokenSequence> NBest(int n) const = 0;

  // The tokens of the best sequence from the `first` on, none where it has no more. O(their
  // number).
  virtual std::vector<TokenSpan> BestTokensSince(size_t first) const = 0;

  // Ids of the best sequence so far; cheap, for partial results. Valid until the next call.
  virtual const std::vector<int32_t>& BestIds() const = 0;

  // How many of the first BestIds are *stable*: all sequences begin with them, and always will
  // until Reset. Never falls. O(1).
  virtual size_t NumStableIds() const = 0;

  // Frames given so far.
  virtual int64_t num_frames() const = 0;

  // All that it remembers, for the snapshot of a stream. Restore takes what Save of a search with
  // the same options wrote; it throws SnapshotError when that is not possible, and must not be used
  // then. Whatever it does not refuse can be gone on with.
  virtual void Save(StateWriter* writer) const = 0;
  virtual void Restore(StateReader* reader) = 0;

  virtual std::unique_ptr<CtcSearch> Clone() const = 0;
  virtual void Reset() = 0;
};

// vocab_size and blank_id as in the model's `ctc` section. Throws std::invalid_argument, also when
// the lexicon is of a model with others.
std::unique_ptr<CtcSearch> MakeCtcSearch(const SearchOptions& options, int vocab_size,
                                         int blank_id);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_CTC_SEARCH_H_
