#include "runtime/word_list.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "runtime/snapshot/sha256.h"
#include "runtime/text/utf8.h"
#include "runtime/text/word_tree.h"
#include "runtime/token_table.h"

namespace runnel {
namespace {

constexpr std::string_view kBoundary = TokenTable::kWordBoundary;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kMaxLineSize = size_t{1} << 16;  // keeps messages, which quote words, short
constexpr std::string_view kFieldSeparators = " \t";

bool BeginsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::vector<std::string_view> SplitFields(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t begin = line.find_first_not_of(kFieldSeparators); begin != line.npos;) {
    const size_t end = std::min(line.find_first_of(kFieldSeparators, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kFieldSeparators, end);
  }
  return fields;
}

// `text` is UTF-8.
std::vector<std::string_view> SplitCharacters(std::string_view text) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
  std::vector<std::string_view> characters;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    while (end < text.size() && continues(text[end])) ++end;
    characters.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return characters;
}

// Spells words in the tokens of a model. Errors are std::runtime_error.
class Speller {
 public:
  explicit Speller(const TokenTable& tokens) : tokens_(tokens) {
    for (int32_t id = 0; id < tokens.size(); ++id) {
      const std::string& name = tokens.name(id);
      ids_.emplace(name, id);
      if (id == tokens.blank_id()) continue;
      has_boundaries_ = has_boundaries_ || name.find(kBoundary) != name.npos;
      // Tokens like <unk> are not text in any model.
      const bool is_special = name.front() == '<' && name.back() == '>';
      if (pieces_.empty() && !is_special && SplitCharacters(name).size() > 1) pieces_ = name;
    }
  }

  // `line` is UTF-8 and not empty.
  std::vector<int32_t> Spell(std::string_view line) const {
    const std::vector<std::string_view> fields = SplitFields(line);
    const std::string word(fields.front());
    const std::vector<std::string_view> pieces =
        fields.size() == 1 ? Characters(fields.front())
                           : std::vector<std::string_view>(fields.begin() + 1, fields.end());
    std::vector<int32_t> spelling;
    for (const std::string_view piece : pieces) spelling.push_back(Id(piece, word));
    CheckText(word, spelling);
    return spelling;
  }

  bool BeginsWithBoundary(const std::vector<int32_t>& spelling) const {
    return !has_boundaries_ || BeginsWith(tokens_.name(spelling.front()), kBoundary);
  }
  bool EndsWithBoundary(const std::vector<int32_t>& spelling) const {
    return !has_boundaries_ || EndsWith(tokens_.name(spelling.back()), kBoundary);
  }

 private:
  std::vector<std::string_view> Characters(std::string_view word) const {
    if (!pieces_.empty()) {
      throw std::runtime_error("'" + std::string(word) + "' has no tokens, and this model's are " +
                               "not single characters ('" + pieces_ +
                               "'): expected 'WORD token token ...'");
    }
    std::vector<std::string_view> characters = SplitCharacters(word);
    if (has_boundaries_ && characters.front() != kBoundary) {
      characters.insert(characters.begin(), kBoundary);
    }
    return characters;
  }

  int32_t Id(std::string_view token, const std::string& word) const {
    const auto found = ids_.find(std::string(token));
    if (found == ids_.end()) {
      throw std::runtime_error("'" + word + "' needs the token '" + std::string(token) +
                               "', which the model does not have");
    }
    if (found->second == tokens_.blank_id()) {
      throw std::runtime_error("'" + word + "' has the blank, '" + std::string(token) +
                               "', among its tokens; a spelling has none");
    }
    return found->second;
  }

  void CheckText(const std::string& word, const std::vector<int32_t>& spelling) const {
    std::string expected;
    bool at_boundary = false;
    for (const std::string_view character : SplitCharacters(word)) {
      if (character == kBoundary) {
        at_boundary = true;
        continue;
      }
      if (at_boundary && !expected.empty()) expected += ' ';
      at_boundary = false;
      expected += character;
    }
    if (expected.empty())
      throw std::runtime_error("'" + word + "' consists of word boundaries only; expected a word");
    const std::string text = tokens_.Text(spelling);
    if (text == expected) return;
    throw std::runtime_error("expected tokens that spell '" + expected +
                             "', got tokens that spell '" + text + "'");
  }

  const TokenTable& tokens_;
  std::unordered_map<std::string, int32_t> ids_;
  bool has_boundaries_ = false;
  std::string pieces_;  // a token of several characters, if there is one
};

void CheckIsText(std::string_view line) {
  if (line.size() > kMaxLineSize) {
    throw std::runtime_error("longer than " + std::to_string(kMaxLineSize) +
                             " bytes, expected 'WORD' or 'WORD token token ...'");
  }
  if (!IsUtf8(line)) throw std::runtime_error("expected UTF-8, got other bytes");
  const bool has_control = std::any_of(line.begin(), line.end(), [](char c) {
    return (c >= 0 && c < ' ' && c != '\t') || c == '\x7F';
  });
  if (has_control) throw std::runtime_error("expected text, got control characters");
}

std::string TooLarge(const std::string& source) {
  return source + ": larger than " + std::to_string(WordList::kMaxTextSize) +
         " bytes, expected a list of words";
}

}  // namespace

WordList::WordList(const std::string& text, const TokenTable& tokens, const std::string& source)
    : vocab_size_(tokens.size()), blank_id_(tokens.blank_id()) {
  if (text.size() > kMaxTextSize) throw std::runtime_error(TooLarge(source));
  const Speller speller(tokens);
  std::vector<WordTree::Spelling> spellings;
  bool all_begin = true;
  bool all_end = true;
  std::string_view rest = text;
  if (BeginsWith(rest, kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  for (size_t number = 1; !rest.empty(); ++number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    try {
      CheckIsText(line);
      if (line.find_first_not_of(kFieldSeparators) == line.npos || line.front() == '#') continue;
      spellings.push_back(speller.Spell(line));
      all_begin = all_begin && speller.BeginsWithBoundary(spellings.back());
      all_end = all_end && speller.EndsWithBoundary(spellings.back());
      if (!all_begin && !all_end) {
        throw std::runtime_error("expected all words to begin with a word boundary (" +
                                 std::string(kBoundary) + ") or all to end with one, else words " +
                                 "run together");
      }
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(source + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  if (spellings.empty()) throw std::runtime_error(source + ": lists no words");
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
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot open: " + std::strerror(errno));
  std::string text;
  std::vector<char> block(size_t{1} << 16);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    text.append(block.data(), static_cast<size_t>(file.gcount()));
    if (text.size() > kMaxTextSize) throw std::runtime_error(TooLarge(path));
  }
  if (file.bad()) throw std::runtime_error(path + ": cannot read: " + std::strerror(errno));
  return std::make_shared<const WordList>(text, tokens, path);
}

}  // namespace runnel
