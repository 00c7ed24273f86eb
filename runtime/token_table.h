// A model's vocabulary, and how a sequence of its tokens becomes text and words.
#ifndef RUNNEL_RUNTIME_TOKEN_TABLE_H_
#define RUNNEL_RUNTIME_TOKEN_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"

namespace runnel {

// The end of a text that TokenTable::AppendText builds token by token; initially of the empty text.
struct TextEnd {
  bool is_empty = true;
  bool at_boundary = false;  // a space comes before the next characters
};

// Immutable after construction: every method may be called from several threads.
//
// U+2581 anywhere in a token is a word boundary (SentencePiece puts it in front). All other
// characters are joined as they are. Where a vocabulary has U+2581, the characters of scripts
// without spaces (Chinese, Japanese, Thai, Lao, Myanmar, Khmer) are words of their own. In a
// vocabulary without U+2581, such as one of Chinese characters, the text has no spaces and every
// token is a word.
//
// Special tokens are not text: tags of a language or a speaker, <s>, <pad>. Text, words and word
// boundaries ignore them.
class TokenTable {
 public:
  static constexpr std::string_view kWordBoundary = "\xE2\x96\x81";  // U+2581

  // `units_text`: the text of units.txt (UTF-8), one "token id" per line. Each id of 0 to
  // vocab_size - 1 occurs once, in any order, and no token twice. Lines may end in CRLF; empty
  // lines at the end are ignored. Throws std::runtime_error naming `source`, the line that is wrong
  // and what was expected; std::invalid_argument when blank_id, or a special token, is not an id
  // below vocab_size. Without a list, the special tokens are those in angle brackets, such as
  // <en-US>, except <unk>, <UNK> and <0x00> to <0xFF>.
  TokenTable(const std::string& units_text, int vocab_size, int blank_id, const std::string& source,
             const std::optional<std::vector<int32_t>>& special_tokens = std::nullopt);

  int size() const { return static_cast<int>(names_.size()); }
  int32_t blank_id() const { return blank_id_; }
  // Whether a token has a word boundary, so that texts are joined by spaces.
  bool has_word_boundaries() const { return has_boundaries_; }

  // The token as in units.txt, e.g. "▁he". Throws std::invalid_argument for an id out of range.
  const std::string& name(int32_t id) const { return names_[Index(id)]; }

  // The token with a space for each word boundary; "" for the blank and special tokens. Throws as
  // name does.
  const std::string& text(int32_t id) const { return texts_[Index(id)]; }
  bool IsText(int32_t id) const { return !text(id).empty(); }

  // Whether the token consists of punctuation marks and follows a word: it has no word boundary.
  // Throws as name does.
  bool IsPunctuation(int32_t id) const { return is_punctuation_[Index(id)] != 0; }

  // The tokens joined, with one space for each word boundary, none at the ends, and without blanks.
  // Throws std::invalid_argument for an id out of range.
  std::string Text(const std::vector<int32_t>& ids) const;

  // Appends to `text`, which ends as `end` says, what one more token adds; updates `end`. Throws
  // std::invalid_argument for an id out of range.
  void AppendText(int32_t id, TextEnd* end, std::string* text) const;

  // The words of timed tokens. A token without text, such as a boundary alone, belongs to no word.
  // Words do not overlap if the tokens do not: several words of one token divide its time equally.
  // Text is the words in order, with a space before those that a word boundary precedes.
  std::vector<Word> Words(const std::vector<Token>& tokens) const;

  // Whether the text of the tokens begins, and ends, with a word boundary: whether a space parts it
  // from text before, and after it.
  bool BeginsWord(const std::vector<int32_t>& ids) const;
  bool EndsWord(const std::vector<int32_t>& ids) const;

  // Sets what follows from the tokens of a hypothesis: text, words, begins_word, ends_word.
  void Complete(Hypothesis* hypothesis) const;

 private:
  size_t Index(int32_t id) const;

  std::vector<std::string> names_;
  std::vector<std::string> texts_;  // names with a space for U+2581; "" where they are no text
  std::vector<char> is_punctuation_;
  int32_t blank_id_;
  bool has_boundaries_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TOKEN_TABLE_H_
