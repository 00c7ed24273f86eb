#include "runtime/token_table.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/text/byte_text.h"
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

// Appends what characters of tokens, spaces for word boundaries, add to a text.
void AppendCharacters(std::string_view characters, TextEnd* end, std::string* text) {
  for (const char c : characters) {
    if (c == ' ') {
      end->at_boundary = true;
      continue;
    }
    if (end->at_boundary && !end->is_empty) *text += ' ';
    end->is_empty = end->at_boundary = false;
    *text += c;
  }
}

std::vector<int32_t> IdsOf(const std::vector<Token>& tokens) {
  std::vector<int32_t> ids;
  for (const Token& token : tokens) ids.push_back(token.id);
  return ids;
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
                       const std::string& source, const std::optional<TokenKinds>& kinds)
    : blank_id_(blank_id) {
  CheckVocabulary(vocab_size, blank_id);
  names_.resize(static_cast<size_t>(vocab_size));
  if (kinds) SetVocabularies(kinds->vocabularies);
  ReadNames(units_text, source);
  for (const std::string& name : names_) {
    const bool is_tag = !kinds && IsTag(name);
    kinds_.push_back(is_tag ? std::optional(TokenKind::kHidden) : std::nullopt);
    texts_.push_back(is_tag ? "" : BoundariesAsSpaces(name));
  }
  texts_[static_cast<size_t>(blank_id)].clear();
  if (kinds) {
    for (const SpecialToken& token : kinds->special) SetKind(token, source);
  }
  for (size_t i = 0; i < texts_.size(); ++i) {
    const bool is_byte = kinds_[i] == TokenKind::kByte;
    is_punctuation_.push_back(!is_byte && IsPunctuationText(texts_[i]) ? 1 : 0);
    has_boundaries_ = has_boundaries_ || (!is_byte && texts_[i].find(' ') != std::string::npos);
  }
}

void TokenTable::SetVocabularies(const std::vector<LanguageVocabulary>& vocabularies) {
  int64_t end = 0;
  for (const LanguageVocabulary& vocabulary : vocabularies) {
    end += vocabulary.size;
    if (end > size()) {
      throw std::invalid_argument("the vocabularies of languages have " + std::to_string(end) +
                                  " tokens, expected at most vocab_size " + std::to_string(size()));
    }
    vocabulary_ends_.push_back(static_cast<int32_t>(end));
    vocabulary_languages_.push_back(vocabulary.language);
  }
}

void TokenTable::ReadNames(const std::string& units_text, const std::string& source) {
  const std::vector<std::string_view> lines = SplitLines(units_text);
  if (lines.size() != names_.size()) {
    throw std::runtime_error(source + ": has " + std::to_string(lines.size()) +
                             " lines, expected the " + std::to_string(size()) +
                             " tokens of the model (vocab_size)");
  }
  std::set<std::pair<std::string, std::optional<int>>> known;
  // There are as many lines as ids and no id occurs twice, so no id is missing.
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string where = source + ": line " + std::to_string(i + 1);
    Entry entry = ParseLine(lines[i], where);
    CheckId(entry, names_, where);
    if (!known.emplace(entry.name, VocabularyOf(entry.id)).second) {
      ThrowRepeated("token", entry, where);
    }
    names_[static_cast<size_t>(entry.id)] = std::move(entry.name);
  }
}

void TokenTable::SetKind(const SpecialToken& token, const std::string& source) {
  const size_t index = Index(token.id);
  texts_[index].clear();
  kinds_[index] = token.kind;
  if (token.kind == TokenKind::kLanguage) tags_.emplace(token.id, token.language);
  has_end_tokens_ = has_end_tokens_ || token.kind == TokenKind::kEnd;
  if (token.kind != TokenKind::kByte) return;
  const int byte = ByteOfName(names_[index]);
  if (byte < 0) {
    throw std::runtime_error(source + ": the token " + std::to_string(token.id) +
                             " stands for a byte (" + names_[index] +
                             "); expected a name such as <0xE4>");
  }
  const auto value = static_cast<char>(static_cast<unsigned char>(byte));
  texts_[index] = IsControl(value) ? ' ' : value;
}

std::optional<int> TokenTable::VocabularyOf(int32_t id) const {
  Index(id);
  const auto found = std::upper_bound(vocabulary_ends_.begin(), vocabulary_ends_.end(), id);
  if (found == vocabulary_ends_.end()) return std::nullopt;
  return static_cast<int>(found - vocabulary_ends_.begin());
}

size_t TokenTable::Index(int32_t id) const {
  if (id < 0 || id >= size()) {
    throw std::invalid_argument("token id must be 0 to " + std::to_string(size() - 1) + ", got " +
                                std::to_string(id));
  }
  return static_cast<size_t>(id);
}

const std::string& TokenTable::LanguageOfToken(int32_t id) const {
  static const std::string kNone;
  const auto tag = tags_.find(id);
  if (tag != tags_.end()) return tag->second;
  const bool is_special = kinds_[Index(id)].value_or(TokenKind::kByte) != TokenKind::kByte;
  const std::optional<int> vocabulary = IsText(id) && !is_special ? VocabularyOf(id) : std::nullopt;
  return vocabulary ? vocabulary_languages_[static_cast<size_t>(*vocabulary)] : kNone;
}

std::string TokenTable::LanguageOf(const std::vector<int32_t>& ids) const {
  std::string language;
  std::map<std::string, int> counts;
  for (const int32_t id : ids) {
    const std::string& of_token = LanguageOfToken(id);
    if (of_token.empty()) continue;
    const int count = ++counts[of_token];
    if (count >= counts[language]) language = of_token;
  }
  return language;
}

TokenTable TokenTable::WithSpecialTokens() const {
  TokenTable shown = *this;
  for (size_t i = 0; i < kinds_.size(); ++i) {
    if (!kinds_[i] || kinds_[i] == TokenKind::kByte || !texts_[i].empty()) continue;
    shown.texts_[i] = has_boundaries_ ? " " + names_[i] + " " : names_[i];
  }
  return shown;
}

std::string TokenTable::Text(const std::vector<int32_t>& ids) const {
  std::string text;
  TextEnd end;
  for (const int32_t id : ids) AppendText(id, &end, &text);
  FinishText(&end, &text);
  return text;
}

void TokenTable::AppendText(int32_t id, TextEnd* end, std::string* text) const {
  const std::string& token = texts_[Index(id)];
  if (!IsByte(id)) {
    FinishText(end, text);
    return AppendCharacters(token, end, text);
  }
  end->bytes += token;
  for (;;) {
    const DecodedCharacter next = FirstCharacter(end->bytes);
    if (next.num_bytes == 0) return;
    end->bytes.erase(0, next.num_bytes);
    AppendCharacters(next.text, end, text);
  }
}

void TokenTable::FinishText(TextEnd* end, std::string* text) {
  while (!end->bytes.empty()) {
    const DecodedCharacter next = FirstCharacterOfAll(end->bytes);
    end->bytes.erase(0, next.num_bytes);
    AppendCharacters(next.text, end, text);
  }
}

std::vector<TextPiece> TokenTable::Pieces(const std::vector<int32_t>& ids,
                                          UnfinishedCharacter unfinished) const {
  std::vector<TextPiece> pieces;
  for (size_t i = 0; i < ids.size();) {
    if (!IsByte(ids[i])) {
      pieces.push_back({i, 1, text(ids[i])});
      ++i;
      continue;
    }
    std::string bytes;
    size_t end = i;
    while (end < ids.size() && IsByte(ids[end])) bytes += text(ids[end++]);
    const bool may_go_on = end == ids.size() && unfinished == UnfinishedCharacter::kLeaveOut;
    while (i < end) {
      const DecodedCharacter next = may_go_on ? FirstCharacter(bytes) : FirstCharacterOfAll(bytes);
      if (next.num_bytes == 0) return pieces;
      bytes.erase(0, next.num_bytes);
      pieces.push_back({i, next.num_bytes, next.text});
      i += next.num_bytes;
    }
  }
  return pieces;
}

std::vector<Word> TokenTable::Words(const std::vector<Token>& tokens,
                                    UnfinishedCharacter unfinished) const {
  std::vector<Word> words;
  WordSplitter splitter(has_boundaries_);
  for (const TextPiece& piece : Pieces(IdsOf(tokens), unfinished)) {
    Token token = tokens[piece.first_token];
    for (size_t i = 1; i < piece.num_tokens; ++i) {
      const Token& next = tokens[piece.first_token + i];
      token.end_ms = next.end_ms;
      token.confidence = std::min(token.confidence, next.confidence);
    }
    AddToken(token, splitter.Add(piece.text, &words), &words);
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

void TokenTable::Complete(Hypothesis* hypothesis, UnfinishedCharacter unfinished) const {
  const std::vector<int32_t> ids = IdsOf(hypothesis->tokens);
  TextEnd end;
  hypothesis->text.clear();
  for (const int32_t id : ids) AppendText(id, &end, &hypothesis->text);
  if (unfinished == UnfinishedCharacter::kReplace) FinishText(&end, &hypothesis->text);
  hypothesis->words = Words(hypothesis->tokens, unfinished);
  hypothesis->begins_word = BeginsWord(ids);
  hypothesis->ends_word = EndsWord(ids);
  hypothesis->language = LanguageOf(ids);
}

}  // namespace runnel
