// N-gram language models, and how a search uses one.
#ifndef RUNNEL_RUNTIME_LANGUAGE_MODEL_H_
#define RUNNEL_RUNTIME_LANGUAGE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace runnel {

class LanguageModelScorer;
class NgramModel;
class TokenTable;

// An n-gram language model with back-off. Immutable: every method may be called from several
// threads.
class LanguageModel {
 public:
  // Called now and then with the part of the text that has been read, 0 to 1.
  using Progress = std::function<void(double fraction)>;

  // Reads ARPA text into memory, or maps a file that Save wrote; the first bytes tell which. ARPA
  // text may come from a pipe. A mapped file is shared between processes and must not be changed
  // while it is mapped; Save replaces files and never changes them.
  //
  // Throws std::runtime_error "path: what is wrong" or, about ARPA text, "path:line: what is
  // wrong".
  static std::shared_ptr<const LanguageModel> Load(const std::string& path,
                                                   const Progress& progress = {});

  // Reads ARPA text that NeMo's train_kenlm.py made from the tokens of an acoustic model, which it
  // writes as the characters of code point id + 100. `tokens`: those of the model. The words of
  // the result are the tokens, for LanguageModelLevel::kToken. Throws as Load does.
  static std::shared_ptr<const LanguageModel> LoadNemo(const std::string& path,
                                                       const TokenTable& tokens,
                                                       const Progress& progress = {});

  // Internal.
  explicit LanguageModel(std::unique_ptr<const NgramModel> ngrams);
  ~LanguageModel();
  LanguageModel(const LanguageModel&) = delete;
  LanguageModel& operator=(const LanguageModel&) = delete;

  // Writes the compiled model, which Load maps. The file appears complete or not at all. Throws
  // std::runtime_error "path: what is wrong".
  void Save(const std::string& path) const;

  // The number of words in the longest n-grams.
  int order() const;
  // The n-grams of all lengths, and those of `length` words, 1 to order().
  int64_t num_ngrams() const;
  int64_t num_ngrams(int length) const;
  // Of the compiled model, in bytes.
  size_t size() const;

  // 32 lower-case hexadecimal digits, equal for models with equal n-grams and numbers: for ARPA
  // text, for the file compiled from it, and for the text with its n-grams in another order.
  const std::string& fingerprint() const { return fingerprint_; }

  // Internal: the n-grams, for scorers (runtime/ngram/ngram_model.h).
  const NgramModel& ngrams() const { return *ngrams_; }

 private:
  std::unique_ptr<const NgramModel> ngrams_;
  std::string fingerprint_;
};

// What the words of the language model are.
enum class LanguageModelLevel {
  kWord,   // words: the text of a result, split at spaces
  kToken,  // tokens of the acoustic model, named as in units.txt
};

// How a search uses a language model. Each word, or token, adds
//   weight * ln p(word | words before) + bonus
// to the score of a hypothesis (docs/language_models.md).
struct LanguageModelOptions {
  static constexpr double kMaxWeight = 10;
  static constexpr double kMaxBonus = 100;

  std::shared_ptr<const LanguageModel> model;  // null: none
  LanguageModelLevel level = LanguageModelLevel::kWord;
  double weight = 0.3;  // 0 to kMaxWeight
  double bonus = 1.0;   // natural logarithm; -kMaxBonus to kMaxBonus

  // Throws std::invalid_argument naming field, value and range.
  void Validate() const;
};

// Prepares a language model for the vocabulary of a model (Model::tokens), for
// SearchOptions::language_model. Any number of streams may share the result. Throws
// std::invalid_argument, naming the field, when an option is out of range, the model is null,
// `level` is kWord and the vocabulary has no word boundaries, or the language model cannot match
// the vocabulary: of its 1000 most probable words, less than a third are words that the tokens
// can spell (kWord), or less than half are tokens (kToken).
std::shared_ptr<const LanguageModelScorer> PrepareLanguageModel(const LanguageModelOptions& options,
                                                                const TokenTable& tokens);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LANGUAGE_MODEL_H_
