#include "runtime/lexicon.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "runtime/sha256.h"
#include "runtime/utf8.h"

namespace runnel {
namespace {

constexpr std::string_view kBoundary = "\xE2\x96\x81";  // U+2581
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kMaxLineSize = size_t{1} << 16;  // errors quote words
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

// Spells words in the units of a model. Errors are std::runtime_error.
class Speller {
 public:
  explicit Speller(const TokenTable& tokens) : tokens_(tokens) {
    for (int32_t id = 0; id < tokens.size(); ++id) {
      const std::string& symbol = tokens.symbol(id);
      ids_.emplace(symbol, id);
      if (id == tokens.blank_id()) continue;
      has_boundaries_ = has_boundaries_ || symbol.find(kBoundary) != symbol.npos;
      // Symbols like <unk> are no text in any model.
      const bool is_special = symbol.front() == '<' && symbol.back() == '>';
      if (pieces_.empty() && !is_special && SplitCharacters(symbol).size() > 1) pieces_ = symbol;
    }
  }

  // `line` is UTF-8 and not empty.
  std::vector<int32_t> Spell(std::string_view line) const {
    const std::vector<std::string_view> fields = SplitFields(line);
    const std::string word(fields.front());
    const std::vector<std::string_view> units =
        fields.size() == 1 ? Characters(fields.front())
                           : std::vector<std::string_view>(fields.begin() + 1, fields.end());
    std::vector<int32_t> spelling;
    for (const std::string_view unit : units) spelling.push_back(Id(unit, word));
    CheckText(word, spelling);
    return spelling;
  }

  bool BeginsWithBoundary(const std::vector<int32_t>& spelling) const {
    return !has_boundaries_ || BeginsWith(tokens_.symbol(spelling.front()), kBoundary);
  }
  bool EndsWithBoundary(const std::vector<int32_t>& spelling) const {
    return !has_boundaries_ || EndsWith(tokens_.symbol(spelling.back()), kBoundary);
  }

 private:
  std::vector<std::string_view> Characters(std::string_view word) const {
    if (!pieces_.empty()) {
      throw std::runtime_error("'" + std::string(word) + "' has no units, and this model's are " +
                               "not single characters ('" + pieces_ +
                               "'): expected 'WORD unit unit ...'");
    }
    std::vector<std::string_view> characters = SplitCharacters(word);
    if (has_boundaries_ && characters.front() != kBoundary) {
      characters.insert(characters.begin(), kBoundary);
    }
    return characters;
  }

  int32_t Id(std::string_view unit, const std::string& word) const {
    const auto found = ids_.find(std::string(unit));
    if (found == ids_.end()) {
      throw std::runtime_error("'" + word + "' needs the unit '" + std::string(unit) +
                               "', which the model does not have");
    }
    if (found->second == tokens_.blank_id()) {
      throw std::runtime_error("'" + word + "' has the blank, '" + std::string(unit) +
                               "', among its units; a spelling has none");
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
    if (expected.empty()) throw std::runtime_error("'" + word + "' is no word but a word boundary");
    const std::string text = tokens_.Text(spelling);
    if (text == expected) return;
    throw std::runtime_error("expected units that spell '" + expected +
                             "', got units that spell '" + text + "'");
  }

  const TokenTable& tokens_;
  std::unordered_map<std::string, int32_t> ids_;
  bool has_boundaries_ = false;
  std::string pieces_;  // a unit of several characters, if there is one
};

void CheckIsText(std::string_view line) {
  if (line.size() > kMaxLineSize) {
    throw std::runtime_error("longer than " + std::to_string(kMaxLineSize) +
                             " bytes, expected 'WORD' or 'WORD unit unit ...'");
  }
  if (!IsUtf8(line)) throw std::runtime_error("expected UTF-8, got other bytes");
  const bool has_control = std::any_of(line.begin(), line.end(), [](char c) {
    return (c >= 0 && c < ' ' && c != '\t') || c == '\x7F';
  });
  if (has_control) throw std::runtime_error("expected text, got control characters");
}

std::string TooLarge(const std::string& source) {
  return source + ": larger than " + std::to_string(Lexicon::kMaxTextSize) +
         " bytes, expected a list of words";
}

}  // namespace

Lexicon::Lexicon(const std::string& text, const TokenTable& tokens, const std::string& source)
    : vocab_size_(tokens.size()), blank_id_(tokens.blank_id()) {
  if (text.size() > kMaxTextSize) throw std::runtime_error(TooLarge(source));
  const Speller speller(tokens);
  std::vector<Spelling> spellings;
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
  BuildTree(spellings);
  Sha256 hash;
  hash.AddNumber(vocab_size_).AddNumber(blank_id_);
  for (const Node& node : nodes_) {
    hash.AddNumber(node.token).AddNumber(node.first_child).AddNumber(node.ends_word ? 1 : 0);
  }
  fingerprint_ = hash.Fingerprint();
}

std::shared_ptr<const Lexicon> Lexicon::Read(const std::string& path, const TokenTable& tokens) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot open: " + std::strerror(errno));
  std::string text;
  std::vector<char> block(size_t{1} << 16);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    text.append(block.data(), static_cast<size_t>(file.gcount()));
    if (text.size() > kMaxTextSize) throw std::runtime_error(TooLarge(path));
  }
  if (file.bad()) throw std::runtime_error(path + ": cannot read: " + std::strerror(errno));
  return std::make_shared<const Lexicon>(text, tokens, path);
}

// Breadth first: a node's children are appended together when its turn comes.
void Lexicon::BuildTree(const std::vector<Spelling>& spellings) {
  // The spellings that go through a node: they have its first `length` tokens in common.
  struct Range {
    size_t begin;
    size_t end;
    size_t length;
  };
  std::vector<Range> ranges = {{0, spellings.size(), 0}};
  nodes_.assign(1, Node());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Range range = ranges[i];
    if (spellings[range.begin].size() == range.length) {
      nodes_[i].ends_word = true;
      ++range.begin;
    }
    nodes_[i].first_child = static_cast<int32_t>(nodes_.size());
    while (range.begin < range.end) {
      const int32_t token = spellings[range.begin][range.length];
      size_t end = range.begin + 1;
      while (end < range.end && spellings[end][range.length] == token) ++end;
      nodes_.push_back({token, 0, 0, false});
      ranges.push_back({range.begin, end, range.length + 1});
      range.begin = end;
    }
    nodes_[i].end_child = static_cast<int32_t>(nodes_.size());
  }
}

int32_t Lexicon::Child(int32_t node, int32_t token) const {
  const auto begin = nodes_.begin() + At(node).first_child;
  const auto end = nodes_.begin() + At(node).end_child;
  const auto found = std::lower_bound(
      begin, end, token, [](const Node& child, int32_t wanted) { return child.token < wanted; });
  if (found == end || found->token != token) return kNone;
  return static_cast<int32_t>(found - nodes_.begin());
}

void Lexicon::TokensAfter(const Places& places, std::vector<int32_t>* tokens) const {
  tokens->clear();
  for (const int32_t place : places) {
    for (int32_t child = At(place).first_child; child < At(place).end_child; ++child) {
      tokens->push_back(At(child).token);
    }
  }
  if (places.size() == 1) return;
  std::sort(tokens->begin(), tokens->end());
  tokens->erase(std::unique(tokens->begin(), tokens->end()), tokens->end());
}

Lexicon::Places Lexicon::Next(const Places& places, int32_t token) const {
  Places next;
  bool is_complete = false;
  for (const int32_t place : places) {
    const int32_t child = Child(place, token);
    if (child == kNone) continue;
    if (At(child).ends_word) is_complete = true;
    // At the end of a word that begins no other one there is nowhere to go but to the root.
    if (At(child).first_child < At(child).end_child) next.push_back(child);
  }
  if (is_complete) next.push_back(kRoot);
  std::sort(next.begin(), next.end());
  return next;
}

bool Lexicon::CompletesWord(const Places& places, int32_t token) const {
  return std::any_of(places.begin(), places.end(), [this, token](int32_t place) {
    const int32_t child = Child(place, token);
    return child != kNone && At(child).ends_word;
  });
}

}  // namespace runnel
