// How a stream searches for the text in the model's output.
#ifndef RUNNEL_RUNTIME_SEARCH_OPTIONS_H_
#define RUNNEL_RUNTIME_SEARCH_OPTIONS_H_

#include <cstdint>
#include <memory>

namespace runnel {

class Hotwords;
class LanguageModelScorer;
class WordList;

// kPrefixBeam is a beam search of the head's own kind: of CTC prefixes; of a transducer, as the
// model's family does it (TransducerBeam in runtime/transducer/transducer_config.h). kModifiedBeam,
// of transducers without durations only, gives each frame one label, as icefall does.
enum class SearchMethod { kGreedy, kPrefixBeam, kModifiedBeam };

// The part of a model that gives the search its probabilities. kDefault: the transducer of a model
// that has one, otherwise CTC.
enum class Head { kDefault, kCtc, kTransducer };

// A second pass over the hypotheses of an utterance that has ended, by the attention decoder of the
// model (U2: Zhang et al. 2020, "Unified streaming and non-streaming two-pass end-to-end model for
// speech recognition"; U2++: Wu et al. 2021). The score of a hypothesis becomes
//   (1 - reverse_weight) left + reverse_weight right + first_pass_weight * first pass,
// where left and right are the decoder's log probabilities of the tokens in either order. Text
// before the end of the utterance is that of the first pass. Encoder frames are kept until the
// utterance ends; an utterance of more than kMaxFrames is not rescored.
struct RescoringOptions {
  static constexpr int64_t kMaxFrames = 3000;  // encoder frames
  static constexpr double kMaxWeight = 100;

  bool enabled = false;
  double first_pass_weight = 0.5;  // 0 to kMaxWeight
  double reverse_weight = 0;       // 0 to 1; 0 for a model without a decoder from right to left
};

struct SearchOptions {
  // Far more hypotheses than help. The limit keeps a mistyped number from taking all memory.
  static constexpr int kMaxBeamSize = 10000;

  SearchMethod method = SearchMethod::kGreedy;
  Head head = Head::kDefault;
  // Hypotheses kept per frame (beam searches), 1 to kMaxBeamSize. With hotwords up to a quarter
  // more (runtime/hotwords.h).
  int beam_size = 8;
  int token_beam = 20;  // most probable tokens considered per frame (beam searches); at least 1
  // Most tokens of one encoder frame (a transducer's kGreedy and time-synchronous beam search); 0:
  // the model's own number.
  static constexpr int kMaxSymbols = 1000;
  int max_symbols = 0;
  // Part of the CTC head's probability in that of a label, 0 to 1; above 0 in a transducer's beam
  // searches with one label per frame only, of a model that has both heads.
  double ctc_weight = 0;
  RescoringOptions rescoring;  // beam searches only: of all hypotheses in the beam
  // Restricts the search to sequences of these words (kPrefixBeam); null: any tokens. token_beam
  // then counts the tokens that may follow each hypothesis, not all tokens.
  std::shared_ptr<const WordList> word_list;
  // Phrases that the search prefers (beam searches, runtime/hotwords.h); null: none.
  std::shared_ptr<const Hotwords> hotwords;
  // A language model whose weighted score is added (beam searches, PrepareLanguageModel in
  // runtime/language_model.h); null: none.
  std::shared_ptr<const LanguageModelScorer> language_model;

  // Throws std::invalid_argument naming option, value and range, or the options that exclude each
  // other.
  void Validate() const;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_OPTIONS_H_
