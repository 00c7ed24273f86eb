#include "runtime/scoring/language_model_scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "runtime/scoring/language_model_fit.h"
#include "runtime/text/letter_case.h"
#include "runtime/text/vocabulary.h"

namespace runnel {
namespace {

constexpr uint32_t kRoot = VocabularyTrie::kRoot;
constexpr double kLowest = std::numeric_limits<double>::lowest();
// A bound and the sum that it bounds are rounded differently.
constexpr double kRounding = 1e-9;

const std::shared_ptr<const LanguageModel>& Checked(const LanguageModelOptions& options) {
  options.Validate();
  if (options.model == nullptr) {
    throw std::invalid_argument("model of the language model options is null, expected a model");
  }
  return options.model;
}

enum class CaseMapping { kNone, kToUpper, kToLower };

CaseMapping ChooseMapping(const std::vector<std::string>& texts, const LetterCase& letters,
                          const NgramModel& ngrams) {
  const bool has_lower = std::any_of(
      texts.begin(), texts.end(), [&](const std::string& text) { return letters.HasLower(text); });
  const bool has_upper = std::any_of(
      texts.begin(), texts.end(), [&](const std::string& text) { return letters.HasUpper(text); });
  if (has_lower == has_upper || ngrams.has_lower_case() == ngrams.has_upper_case() ||
      has_lower == ngrams.has_lower_case()) {
    return CaseMapping::kNone;
  }
  return has_lower ? CaseMapping::kToUpper : CaseMapping::kToLower;
}

// The texts of the tokens in the case in which words are compared; "" for special tokens, which
// have no case of their own.
std::vector<std::string> MappedTexts(const TokenTable& tokens, const NgramModel& ngrams) {
  std::vector<std::string> texts;
  for (int32_t token = 0; token < tokens.size(); ++token) {
    texts.push_back(IsBracketed(tokens.name(token)) ? "" : tokens.text(token));
  }
  const LetterCase letters;
  const CaseMapping mapping = ChooseMapping(texts, letters, ngrams);
  for (std::string& text : texts) {
    if (mapping == CaseMapping::kToUpper) text = letters.Upper(text);
    if (mapping == CaseMapping::kToLower) text = letters.Lower(text);
  }
  return texts;
}

}  // namespace

std::shared_ptr<const LanguageModelScorer> PrepareLanguageModel(const LanguageModelOptions& options,
                                                                const TokenTable& tokens) {
  auto scorer = std::make_shared<const LanguageModelScorer>(options, tokens);
  const NgramModel& ngrams = options.model->ngrams();
  CheckLanguageModelFits(options.level, ngrams, tokens, MappedTexts(tokens, ngrams));
  return scorer;
}

LanguageModelScorer::LanguageModelScorer(const LanguageModelOptions& options,
                                         const TokenTable& tokens)
    : vocab_size_(tokens.size()),
      blank_id_(tokens.blank_id()),
      options_(options),
      model_(Checked(options)),
      ngrams_(model_->ngrams()),
      level_(options.level),
      scale_(options.weight * std::log(10.0)),
      bonus_(options.bonus) {
  if (level_ == LanguageModelLevel::kWord) {
    MakePieces(tokens);
  } else {
    MakeWords(tokens);
  }
  BoundGains();
}

void LanguageModelScorer::MakePieces(const TokenTable& tokens) {
  const double unknown_log10 = ngrams_.unknown_word() == NgramModel::kUnknownWord
                                   ? 0
                                   : ngrams_.Log10Unigram(ngrams_.unknown_word());
  unknown_look_ahead_ = scale_ * (kUnknownLog10 + unknown_log10);
  if (!tokens.has_word_boundaries()) {
    throw std::invalid_argument(
        "level of the language model is word, but no token of the acoustic model has a word "
        "boundary (" +
        std::string(TokenTable::kWordBoundary) + "), expected level token");
  }
  const std::vector<std::string> mapped_texts = MappedTexts(tokens, ngrams_);
  for (int32_t token = 0; token < tokens.size(); ++token) {
    const std::string& mapped = mapped_texts[static_cast<size_t>(token)];
    pieces_.push_back(MakePiece(mapped.empty() ? tokens.text(token) : mapped));
  }
}

LanguageModelScorer::Piece LanguageModelScorer::MakePiece(const std::string& text) const {
  Piece piece;
  std::string rest = text;
  size_t end = std::min(rest.find(' '), rest.size());
  piece.letters = rest.substr(0, end);
  piece.letters_node = NodeAfter(kRoot, piece.letters);
  piece.has_boundary = end < rest.size();
  while (end < rest.size()) {
    rest.erase(0, end + 1);
    end = std::min(rest.find(' '), rest.size());
    if (end > 0 && end < rest.size())
      piece.words.push_back(WordAt(NodeAfter(kRoot, rest.substr(0, end))));
  }
  if (piece.has_boundary) piece.next_node = NodeAfter(kRoot, rest);
  return piece;
}

void LanguageModelScorer::MakeWords(const TokenTable& tokens) {
  for (int32_t token = 0; token < tokens.size(); ++token) {
    if (tokens.IsText(token)) {
      words_.emplace_back(ngrams_.WordId(tokens.name(token)));
    } else {
      words_.emplace_back(std::nullopt);
    }
  }
}

uint32_t LanguageModelScorer::NodeAfter(uint32_t node, const std::string& letters) const {
  return node == kUnknownNode ? kUnknownNode : ngrams_.vocabulary().Walk(node, letters);
}

uint32_t LanguageModelScorer::WordAt(uint32_t node) const {
  if (node == kUnknownNode) return NgramModel::kUnknownWord;
  const uint32_t word = ngrams_.vocabulary().WordAt(node);
  return ngrams_.is_special(word) ? NgramModel::kUnknownWord : word;
}

double LanguageModelScorer::LookAhead(uint32_t node) const {
  if (node == kRoot) return 0;
  if (node == kUnknownNode) return unknown_look_ahead_;
  return scale_ * ngrams_.vocabulary().BestLog10Below(node);
}

double LanguageModelScorer::AddWord(uint32_t word, NgramModel::Context* context) const {
  const double log10_prob = ngrams_.Log10Prob(*context, word, context);
  return scale_ * (word == NgramModel::kUnknownWord ? kUnknownLog10 + log10_prob : log10_prob) +
         bonus_;
}

double LanguageModelScorer::Extend(State* state, int32_t token) const {
  if (level_ == LanguageModelLevel::kToken) {
    const std::optional<uint32_t> word = words_[static_cast<size_t>(token)];
    return word ? AddWord(*word, &state->context) : 0;
  }
  const Piece& piece = pieces_[static_cast<size_t>(token)];
  double gain = -LookAhead(state->word_node);
  uint32_t node =
      state->word_node == kRoot ? piece.letters_node : NodeAfter(state->word_node, piece.letters);
  if (piece.has_boundary) {
    if (node != kRoot) gain += AddWord(WordAt(node), &state->context);
    for (const uint32_t word : piece.words) gain += AddWord(word, &state->context);
    node = piece.next_node;
  }
  state->word_node = node;
  return gain + LookAhead(node);
}

double LanguageModelScorer::End(const State& state) const {
  NgramModel::Context context = state.context;
  double gain = -LookAhead(state.word_node);
  if (state.word_node != kRoot) gain += AddWord(WordAt(state.word_node), &context);
  const uint32_t end = ngrams_.end_word();
  if (end != NgramModel::kUnknownWord) gain += scale_ * ngrams_.Log10Prob(context, end, &context);
  return gain;
}

void LanguageModelScorer::BoundGains() {
  const bool has_unknown = ngrams_.unknown_word() != NgramModel::kUnknownWord;
  const double most_log10 = ngrams_.most_log10_prob();
  const double most_unknown = scale_ * (kUnknownLog10 + (has_unknown ? most_log10 : 0)) + bonus_;
  const double most_word = std::max(scale_ * most_log10 + bonus_, most_unknown);
  // At level token: the blank, which no search appends, and special tokens have no word.
  const bool has_special = std::count(words_.begin(), words_.end(), std::nullopt) > 1;
  most_gain_between_ = level_ == LanguageModelLevel::kToken ? most_word : kLowest;
  if (has_special) most_gain_between_ = std::max(most_gain_between_, 0.0);
  most_gain_within_ = kLowest;
  most_gain_unknown_ = kLowest;
  for (const Piece& piece : pieces_) {
    if (!piece.has_boundary) {
      most_gain_between_ = std::max(most_gain_between_, LookAhead(piece.letters_node));
      continue;
    }
    const double rest =
        static_cast<double>(piece.words.size()) * most_word + LookAhead(piece.next_node);
    most_gain_between_ =
        std::max(most_gain_between_, (piece.letters.empty() ? 0 : most_word) + rest);
    most_gain_within_ = std::max(most_gain_within_, most_word + rest);
    most_gain_unknown_ = std::max(most_gain_unknown_, most_unknown + rest);
  }
}

double LanguageModelScorer::MostGain(const State& state) const {
  if (state.word_node == kRoot) return most_gain_between_ + kRounding;
  const double look_ahead = LookAhead(state.word_node);
  // A token without a boundary leads to a smaller look-ahead, or to that of an unknown word.
  if (state.word_node == kUnknownNode) {
    return std::max(most_gain_unknown_ - look_ahead, 0.0) + kRounding;
  }
  return std::max({most_gain_within_, unknown_look_ahead_, look_ahead}) - look_ahead + kRounding;
}

}  // namespace runnel
