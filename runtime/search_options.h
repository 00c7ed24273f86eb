// How a stream searches for the text in the model's output.
#ifndef RUNNEL_RUNTIME_SEARCH_OPTIONS_H_
#define RUNNEL_RUNTIME_SEARCH_OPTIONS_H_

#include <memory>

namespace runnel {

class Hotwords;
class LanguageModelScorer;
class WordList;

// kPrefixBeam is a beam search of the head's own kind: of CTC prefixes; of a transducer, as the
// model's family does it (TransducerBeam in transducer/transducer_config.h). kModifiedBeam, of
// transducers only, gives each frame one label, as icefall does.
enum class SearchMethod { kGreedy, kPrefixBeam, kModifiedBeam };

// The part of a model that gives the search its probabilities. kDefault: the transducer of a model
// that has one, otherwise CTC.
enum class Head { kDefault, kCtc, kTransducer };

struct SearchOptions {
  // Far more hypotheses than help. The limit keeps a mistyped number from taking all memory.
  static constexpr int kMaxBeamSize = 10000;

  SearchMethod method = SearchMethod::kGreedy;
  Head head = Head::kDefault;
  int beam_size = 8;    // hypotheses kept per frame (beam searches); 1 to kMaxBeamSize
  int token_beam = 20;  // most probable tokens considered per frame (beam searches); at least 1
  // Most tokens of one encoder frame (a transducer's kGreedy and time-synchronous beam search); 0:
  // the model's own number.
  static constexpr int kMaxSymbols = 1000;
  int max_symbols = 0;
  // Part of the CTC head's probability in that of a label, 0 to 1 (a transducer's beam searches
  // with one label per frame, of a model that has both heads).
  double ctc_weight = 0;
  // Restricts the search to sequences of these words (kPrefixBeam); null: any tokens. token_beam
  // then counts the tokens that may follow each hypothesis, not all tokens.
  std::shared_ptr<const WordList> word_list;
  // Phrases that the search prefers (kPrefixBeam, runtime/hotwords.h); null: none.
  std::shared_ptr<const Hotwords> hotwords;
  // A language model whose weighted score is added (kPrefixBeam, PrepareLanguageModel in
  // runtime/language_model.h); null: none.
  std::shared_ptr<const LanguageModelScorer> language_model;

  // Throws std::invalid_argument naming field, value and range, or the fields that exclude each
  // other.
  void Validate() const;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_OPTIONS_H_
