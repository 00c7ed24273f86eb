#include "runtime/word_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/snapshot/sha256.h"
#include "runtime/text/list_file.h"
#include "runtime/text/printable.h"
#include "runtime/text/utf8.h"
#include "runtime/text/vocabulary.h"
#include "runtime/text/word_tree.h"
#include "runtime/token_table.h"

namespace runnel {
namespace {

constexpr std::string_view kBoundary = TokenTable::kWordBoundary;
constexpr ListFormat kFormat = {WordList::kMaxTextSize, "words",
                                "'WORD' or 'WORD token token ...'"};

bool BeginsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

using IdsByName = std::unordered_map<std::string, int32_t>;

// Spells words in the tokens of a model. Errors are std::runtime_error.
class Speller {
 public:
  explicit Speller(const TokenTable& tokens)
      : tokens_(tokens), ids_(std::max<size_t>(1, static_cast<size_t>(tokens.num_vocabularies()))) {
    for (int32_t id = 0; id < tokens.size(); ++id) {
      const std::string& name = tokens.name(id);
      AddId(name, id);
      if (!tokens.IsText(id)) continue;
      if (pieces_.empty() && !IsBracketed(name) && SplitCharacters(name).size() > 1) {
        pieces_ = name;
      }
    }
  }

  // The spellings of a word: one in the tokens of each language that has them, at least one.
  std::vector<std::vector<int32_t>> Spell(const ListFields& fields) const {
    const std::string word(fields.front());
    const std::vector<std::string_view> pieces =
        fields.size() == 1 ? Characters(fields.front())
                           : std::vector<std::string_view>(fields.begin() + 1, fields.end());
    std::vector<std::vector<int32_t>> spellings;
    std::string missing;  // of the first language
    for (const IdsByName& ids : ids_) {
      std::vector<int32_t> spelling;
      for (const std::string_view piece : pieces) {
        const auto found = ids.find(std::string(piece));
        if (found == ids.end()) {
          if (missing.empty()) missing = piece;
          break;
        }
        spelling.push_back(found->second);
      }
      if (spelling.size() != pieces.size()) continue;
      CheckSpelling(word, spelling);
      spellings.push_back(std::move(spelling));
    }
    if (!spellings.empty()) return spellings;
    throw std::runtime_error(Quoted(word) + " needs the token " + Quoted(missing) +
                             ", which the model does not have" + DecompositionNote(word));
  }

  bool BeginsWithBoundary(const std::vector<int32_t>& spelling) const {
    return !tokens_.has_word_boundaries() || BeginsWith(tokens_.name(spelling.front()), kBoundary);
  }
  bool EndsWithBoundary(const std::vector<int32_t>& spelling) const {
    return !tokens_.has_word_boundaries() || EndsWith(tokens_.name(spelling.back()), kBoundary);
  }

 private:
  std::vector<std::string_view> Characters(std::string_view word) const {
    if (!pieces_.empty()) {
      throw std::runtime_error(Quoted(word) + " has no tokens, and this model's are " +
                               "not single characters ('" + pieces_ +
                               "'): expected 'WORD token token ...'");
    }
    std::vector<std::string_view> characters = SplitCharacters(word);
    if (tokens_.has_word_boundaries() && characters.front() != kBoundary) {
      characters.insert(characters.begin(), kBoundary);
    }
    return characters;
  }

  // A token of no language is one of each.
  void AddId(const std::string& name, int32_t id) {
    const std::optional<int> vocabulary = tokens_.VocabularyOf(id);
    for (size_t i = 0; i < ids_.size(); ++i) {
      if (!vocabulary || static_cast<size_t>(*vocabulary) == i) ids_[i].emplace(name, id);
    }
  }

  void CheckSpelling(const std::string& word, const std::vector<int32_t>& spelling) const {
    if (std::count(spelling.begin(), spelling.end(), tokens_.blank_id()) > 0) {
      throw std::runtime_error(Quoted(word) + " has the blank, " +
                               Quoted(tokens_.name(tokens_.blank_id())) +
                               ", among its tokens; a spelling has none");
    }
    const std::string expected = SpacedText(word);
    if (expected.empty())
      throw std::runtime_error(Quoted(word) + " consists of word boundaries only; expected a word");
    const std::string text = tokens_.Text(spelling);
    if (text == expected) return;
    throw std::runtime_error("expected tokens that spell " + Quoted(expected) +
                             ", got tokens that spell " + Quoted(text));
  }

  const TokenTable& tokens_;
  std::vector<IdsByName> ids_;  // of the vocabulary of each language, or of all tokens
  std::string pieces_;          // a token of several characters, if there is one
};

}  // namespace

WordList::WordList(const std::string& text, const TokenTable& tokens, const std::string& source)
    : vocab_size_(tokens.size()), blank_id_(tokens.blank_id()) {
  const Speller speller(tokens);
  std::vector<WordTree::Spelling> spellings;
  bool all_begin = true;
  bool all_end = true;
  ReadList(text, kFormat, source, [&](const ListFields& fields) {
    for (std::vector<int32_t>& spelling : speller.Spell(fields)) {
      all_begin = all_begin && speller.BeginsWithBoundary(spelling);
      all_end = all_end && speller.EndsWithBoundary(spelling);
      spellings.push_back(std::move(spelling));
    }
    if (!all_begin && !all_end) {
      throw std::runtime_error("expected all words to begin with a word boundary (" +
                               std::string(kBoundary) + ") or all to end with one, else words " +
                               "run together");
    }
  });
  std::sort(spellings.begin(), spellings.end());
  spellings.erase(std::unique(spellings.begin(), spellings.end()), spellings.end());
  tree_ = std::make_unique<const WordTree>(spellings);
  Sha256 hash;
  hash.AddNumber(vocab_size_).AddNumber(blank_id_);
  tree_->AddTo(&hash);
  fingerprint_ = hash.Fingerprint();
}

WordList::~WordList() = default;

std::shared_ptr<const WordList> WordList::Read(const std::string& path, const TokenTable& tokens) {
  return std::make_shared<const WordList>(ReadListFile(path, kFormat), tokens, path);
}

}  // namespace runnel
