// What a language model adds to the score of a hypothesis, token by token.
//
// This folder holds what a search adds to the probabilities of the acoustic model.
#ifndef RUNNEL_RUNTIME_SCORING_LANGUAGE_MODEL_SCORER_H_
#define RUNNEL_RUNTIME_SCORING_LANGUAGE_MODEL_SCORER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/language_model.h"
#include "runtime/ngram/ngram_model.h"
#include "runtime/token_table.h"

namespace runnel {

// The score of a hypothesis is the sum over its words w with the words h before them
//   weight * ln(10) * log10 p(w | h) + bonus,
// and at its end, in a language model with </s>, weight * ln(10) * log10 p(</s> | h). The first
// word follows <s>. log10 p of an unknown word is kUnknownLog10, plus log10 p(<unk> | h) in a
// language model with <unk>.
//
// kWord: the words are those of TokenTable::Text, split at spaces. They are compared as they are,
// with one exception: when all letters of the tokens are lower-case and all letters of the language
// model are upper-case, or the other way round, the case of the tokens is changed. <s>, </s> and
// <unk> are unknown words in a text. A word is scored when the word boundary after it arrives, or
// at the end. Until then its score is an estimate, the look-ahead: weight * ln(10) times the
// largest log10 p(w), without words before, of the words that begin with its letters; the unknown
// word's where there is no such word. The estimate is taken back when the word is scored, so that
// the sum after End is the score (pyctcdecode scores words so; flashlight's lexicon decoder has the
// look-ahead).
//
// kToken: each token is a word, spelled as in units.txt.
//
// Special tokens (runtime/token_table.h) are of no word: they add nothing.
//
// Immutable after construction: every method may be called from several threads.
class LanguageModelScorer {
 public:
  static constexpr double kUnknownLog10 = -10;

  // Of one hypothesis. States that are equal get equal scores from then on.
  struct State {
    NgramModel::Context context;  // the words before
    uint32_t word_node;  // the unfinished word: a node of the vocabulary, the root or kUnknownNode
  };
  // The unfinished word begins no word of the language model.
  static constexpr uint32_t kUnknownNode = kNoIndex;

  // Throws std::invalid_argument, naming the field, when an option is out of range, the model is
  // null, or `level` is kWord and no token has a word boundary. PrepareLanguageModel also checks
  // that language model and tokens fit together.
  LanguageModelScorer(const LanguageModelOptions& options, const TokenTable& tokens);

  // Of the model that it was prepared for; a search throws when they are not its own.
  int vocab_size() const { return vocab_size_; }
  int32_t blank_id() const { return blank_id_; }
  const LanguageModelOptions& options() const { return options_; }

  // Before the first token.
  State Start() const { return {ngrams_.Start(), VocabularyTrie::kRoot}; }

  // Appends a token, not the blank. Returns its part of the score, a natural logarithm.
  double Extend(State* state, int32_t token) const;

  // At least as large as the result of Extend for any token.
  double MostGain(const State& state) const;

  // The part of the score at the end of the utterance.
  double End(const State& state) const;

 private:
  // What a token adds to the text: letters that continue a word, and if it has a word boundary, the
  // words within it and the beginning of the next word.
  struct Piece {
    std::string letters;
    bool has_boundary = false;
    uint32_t letters_node = VocabularyTrie::kRoot;  // of `letters` as the beginning of a word
    uint32_t next_node = VocabularyTrie::kRoot;     // of the next word
    std::vector<uint32_t> words;                    // numbers, or NgramModel::kUnknownWord
  };

  void MakePieces(const TokenTable& tokens);
  Piece MakePiece(const std::string& text) const;
  void MakeWords(const TokenTable& tokens);
  void BoundGains();

  uint32_t NodeAfter(uint32_t node, const std::string& letters) const;
  // The word that is finished at a node.
  uint32_t WordAt(uint32_t node) const;
  double LookAhead(uint32_t node) const;
  // Scores a finished word.
  double AddWord(uint32_t word, NgramModel::Context* context) const;

  const int vocab_size_;
  const int32_t blank_id_;
  const LanguageModelOptions options_;
  const std::shared_ptr<const LanguageModel> model_;  // keeps ngrams_
  const NgramModel& ngrams_;
  const LanguageModelLevel level_;
  const double scale_;  // from log10 to the score
  const double bonus_;
  double unknown_look_ahead_ = 0;
  std::vector<Piece> pieces_;                   // of each token (kWord)
  std::vector<std::optional<uint32_t>> words_;  // of each token (kToken); none: no text
  // Bounds of Extend: between words, and within a word besides its look-ahead.
  double most_gain_between_ = 0;
  double most_gain_within_ = 0;
  double most_gain_unknown_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SCORING_LANGUAGE_MODEL_SCORER_H_
