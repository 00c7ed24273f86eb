// How a stream searches for the text in the model's output.
#ifndef RUNNEL_RUNTIME_SEARCH_OPTIONS_H_
#define RUNNEL_RUNTIME_SEARCH_OPTIONS_H_

#include <memory>

namespace runnel {

class Hotwords;
class LanguageModelScorer;
class WordList;

enum class SearchMethod { kGreedy, kPrefixBeam };

struct SearchOptions {
  // Far more hypotheses than help. The limit keeps a mistyped number from taking all memory.
  static constexpr int kMaxBeamSize = 10000;

  SearchMethod method = SearchMethod::kGreedy;
  int beam_size = 8;    // hypotheses kept per frame (kPrefixBeam); 1 to kMaxBeamSize
  int token_beam = 20;  // most probable tokens considered per frame (kPrefixBeam); at least 1
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
