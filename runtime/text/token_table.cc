#include "runtime/token_table.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "runtime/text/character_class.h"
#include "runtime/text/utf8.h"
#include "runtime/text/vocabulary.h"

namespace runnel {
namespace {

struct Entry {
  std::string name;
  int id;
};

// Lines without line ends; empty lines at the end of the text are left out.
std::vector<std::string_view> SplitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

bool IsSpaceOrControl(char c) { return c == ' ' || IsControl(c); }

// Throws std::runtime_error that starts with `where`.
Entry ParseLine(std::string_view line, const std::string& where) {
  if (!IsUtf8(line)) throw std::runtime_error(where + ": expected UTF-8, got other bytes");
  const size_t space = line.rfind(' ');
  const std::string_view name = line.substr(0, std::min(space, line.size()));
  const std::string_view digits = space == line.npos ? "" : line.substr(space + 1);
  if (std::any_of(name.begin(), name.end(), IsSpaceOrControl) ||
      std::any_of(digits.begin(), digits.end(), IsSpaceOrControl)) {
    throw std::runtime_error(where + ": expected one space, between token and id, got more " +
                             "white space or control characters");
  }
  Entry entry{std::string(name), 0};
  const char* end = digits.data() + digits.size();
  const auto [parsed_end, error] = std::from_chars(digits.data(), end, entry.id);
  if (name.empty() || error != std::errc() || parsed_end != end) {
    throw std::runtime_error(where + ": expected 'token id', got '" + std::string(line) + "'");
  }
  return entry;
}

[[noreturn]] void ThrowRepeated(const std::string& what, const Entry& entry,
                                const std::string& where) {
  throw std::runtime_error(where + ": expected every " + what + " once, got '" + entry.name + " " +
                           std::to_string(entry.id) + "' after another line with this " + what);
}

// `names` has the tokens so far at their ids, and "" elsewhere.
void CheckId(const Entry& entry, const std::vector<std::string>& names, const std::string& where) {
  const auto size = static_cast<int>(names.size());
  if (entry.id < 0 || entry.id >= size) {
    throw std::runtime_error(where + ": expected an id of 0 to " + std::to_string(size - 1) +
                             ", got " + std::to_string(entry.id));
  }
  if (!names[static_cast<size_t>(entry.id)].empty()) ThrowRepeated("id", entry, where);
}

// `name` with a space for every word boundary.
std::string BoundariesAsSpaces(const std::string& name) {
  std::string text = name;
  for (size_t at = text.find(TokenTable::kWordBoundary); at != text.npos;
       at = text.find(TokenTable::kWordBoundary, at)) {
    text.replace(at, TokenTable::kWordBoundary.size(), " ");
  }
  return text;
}

// Whether a token with this text is punctuation that follows a word.
bool IsPunctuationText(std::string_view text) {
  const std::vector<std::string_view> characters = SplitCharacters(text);
  return !text.empty() && std::all_of(characters.begin(), characters.end(), [](const auto& one) {
    return IsPunctuation(CodePoint(one));
  });
}

// What a vocabulary that does not list its special tokens has: tags such as <s> and <en-US>. <unk>
// stands for text, and <0x41> for a byte of it.
bool IsTag(std::string_view name) {
  return IsBracketed(name) && name != "<unk>" && name != "<UNK>" && name.substr(0, 3) != "<0x";
}

// Gives the words that a token is part of, words[first] to the last one, its time in equal parts.
void AddToken(const Token& token, size_t first, std::vector<Word>* words) {
  const auto count = static_cast<double>(words->size() - first);
  const double duration_ms = token.end_ms - token.start_ms;
  double start_ms = token.start_ms;
  for (size_t i = first; i < words->size(); ++i) {
    Word& word = (*words)[i];
    const bool is_last = i + 1 == words->size();
    const double part = static_cast<double>(i + 1 - first) / count;
    if (i > first || word.confidence < 0) word.start_ms = start_ms;
    word.end_ms = is_last ? token.end_ms : token.start_ms + duration_ms * part;
    word.confidence =
        word.confidence < 0 ? token.confidence : std::min(word.confidence, token.confidence);
    start_ms = word.end_ms;
  }
}

// Divides the text of tokens into words.
class WordSplitter {
 public:
  explicit WordSplitter(bool has_boundaries) : has_boundaries_(has_boundaries) {}

  // Adds the text of the next token. New words have no times, and a negative confidence. Returns
  // the index of the first word that the token is part of.
  size_t Add(std::string_view text, std::vector<Word>* words) {
    if (!has_boundaries_) begins_word_ = true;
    const size_t num_before = words->size();
    bool continues = false;
    for (const std::string_view character : SplitCharacters(text)) {
      if (character == " ") {
        begins_word_ = true;
        follows_unspaced_ = false;
        continue;
      }
      if (BeginsWord(CodePoint(character))) {
        words->push_back({"", 0, 0, -1});
      } else if (words->size() == num_before) {
        continues = true;
      }
      words->back().text += character;
    }
    return continues ? num_before - 1 : num_before;
  }

 private:
  bool BeginsWord(char32_t character) {
    const bool is_mark = has_boundaries_ && IsUnspacedMark(character);
    const bool is_unspaced = has_boundaries_ && IsUnspaced(character);
    const bool begins = begins_word_ || (!is_mark && (is_unspaced || follows_unspaced_));
    begins_word_ = false;
    follows_unspaced_ = is_unspaced;
    return begins;
  }

  const bool has_boundaries_;
  bool begins_word_ = true;        // whatever character comes next
  bool follows_unspaced_ = false;  // the character before is of a script without spaces
};

}  // namespace

TokenTable::TokenTable(const std::string& units_text, int vocab_size, int blank_id,
                       const std::string& source,
                       const std::optional<std::vector<int32_t>>& special_tokens)
    : blank_id_(blank_id) {
  CheckVocabulary(vocab_size, blank_id);
  const std::vector<std::string_view> lines = SplitLines(units_text);
  if (lines.size() != static_cast<size_t>(vocab_size)) {
    throw std::runtime_error(source + ": expected " + std::to_string(vocab_size) +
                             " tokens as vocab_size says, got " + std::to_string(lines.size()) +
                             " lines");
  }
  names_.resize(lines.size());
  std::unordered_set<std::string> known;
  // There are as many lines as ids and no id occurs twice, so no id is missing.
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string where = source + ": line " + std::to_string(i + 1);
    Entry entry = ParseLine(lines[i], where);
    CheckId(entry, names_, where);
    if (!known.insert(entry.name).second) ThrowRepeated("token", entry, where);
    names_[static_cast<size_t>(entry.id)] = std::move(entry.name);
  }
  for (const std::string& name : names_) {
    const bool is_tag = !special_tokens && IsTag(name);
    texts_.push_back(is_tag ? "" : BoundariesAsSpaces(name));
  }
  texts_[static_cast<size_t>(blank_id)].clear();
  if (special_tokens) {
    for (const int32_t id : *special_tokens) texts_[Index(id)].clear();
  }
  for (const std::string& text : texts_) is_punctuation_.push_back(IsPunctuationText(text) ? 1 : 0);
  has_boundaries_ = std::any_of(texts_.begin(), texts_.end(), [](const std::string& text) {
    return text.find(' ') != text.npos;
  });
}

size_t TokenTable::Index(int32_t id) const {
  if (id < 0 || id >= size()) {
    throw std::invalid_argument("token id must be 0 to " + std::to_string(size() - 1) + ", got " +
                                std::to_string(id));
  }
  return static_cast<size_t>(id);
}

std::string TokenTable::Text(const std::vector<int32_t>& ids) const {
  std::string text;
  TextEnd end;
  for (const int32_t id : ids) AppendText(id, &end, &text);
  return text;
}

void TokenTable::AppendText(int32_t id, TextEnd* end, std::string* text) const {
  for (const char c : texts_[Index(id)]) {
    if (c == ' ') {
      end->at_boundary = true;
      continue;
    }
    if (end->at_boundary && !end->is_empty) *text += ' ';
    *end = {/*is_empty=*/false, /*at_boundary=*/false};
    *text += c;
  }
}

std::vector<Word> TokenTable::Words(const std::vector<Token>& tokens) const {
  std::vector<Word> words;
  WordSplitter splitter(has_boundaries_);
  for (const Token& token : tokens) {
    AddToken(token, splitter.Add(texts_[Index(token.id)], &words), &words);
  }
  return words;
}

bool TokenTable::BeginsWord(const std::vector<int32_t>& ids) const {
  const auto first = std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return IsText(id); });
  return first != ids.end() && text(*first).front() == ' ';
}

bool TokenTable::EndsWord(const std::vector<int32_t>& ids) const {
  const auto last = std::find_if(ids.rbegin(), ids.rend(), [&](int32_t id) { return IsText(id); });
  return last != ids.rend() && text(*last).back() == ' ';
}

void TokenTable::Complete(Hypothesis* hypothesis) const {
  std::vector<int32_t> ids;
  for (const Token& token : hypothesis->tokens) ids.push_back(token.id);
  hypothesis->text = Text(ids);
  hypothesis->words = Words(hypothesis->tokens);
  hypothesis->begins_word = BeginsWord(ids);
  hypothesis->ends_word = EndsWord(ids);
}

}  // namespace runnel
