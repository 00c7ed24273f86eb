// A model's vocabulary, and how a sequence of its tokens becomes text and words.
#ifndef RUNNEL_RUNTIME_TOKEN_TABLE_H_
#define RUNNEL_RUNTIME_TOKEN_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"
#include "runtime/token_kinds.h"

namespace runnel {

// The end of a text that TokenTable::AppendText builds token by token; initially of the empty text.
struct TextEnd {
  bool is_empty = true;
  bool at_boundary = false;  // a space comes before the next characters
  std::string bytes;         // of a character that is not complete, not in the text
};

// Treatment of bytes at the end of a text that are no complete character.
enum class UnfinishedCharacter {
  kReplace,  // U+FFFD for each byte: nothing follows
  kLeaveOut  // the next tokens may complete it
};

// What one token, or the bytes of one character, add to a text.
struct TextPiece {
  size_t first_token = 0;  // index in the sequence
  size_t num_tokens = 1;
  std::string text;  // with a space for each word boundary; "" where they add nothing
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
// boundaries ignore them. Byte tokens are the bytes of UTF-8, several of which form a character. As
// in SentencePiece, U+FFFD replaces each byte that is not of a character. A byte that is a control
// character of ASCII is a word boundary.
class TokenTable {
 public:
  static constexpr std::string_view kWordBoundary = "\xE2\x96\x81";  // U+2581

  // `units_text`: the text of units.txt (UTF-8), one "token id" per line. Each id of 0 to
  // vocab_size - 1 occurs once, in any order, and no token twice, unless in vocabularies of several
  // languages. Lines may end in CRLF; empty lines at the end are ignored. Throws std::runtime_error
  // naming `source`, the line that is wrong and what was expected; std::invalid_argument when
  // blank_id, or a special token, is not an id below vocab_size, or the vocabularies of languages
  // have more tokens. Without `kinds`, the special tokens are those in angle brackets, such as
  // <en-US>, except <unk>, <UNK> and <0x00> to <0xFF>, and no token is a byte.
  TokenTable(const std::string& units_text, int vocab_size, int blank_id, const std::string& source,
             const std::optional<TokenKinds>& kinds = std::nullopt);

  int size() const { return static_cast<int>(names_.size()); }
  int32_t blank_id() const { return blank_id_; }
  // Whether a token has a word boundary, so that texts are joined by spaces.
  bool has_word_boundaries() const { return has_boundaries_; }

  // The token as in units.txt, e.g. "▁he". Throws std::invalid_argument for an id out of range.
  const std::string& name(int32_t id) const { return names_[Index(id)]; }

  // The token with a space for each word boundary; "" for the blank and special tokens. Of a byte
  // token the byte, which need not be UTF-8. Throws as name does.
  const std::string& text(int32_t id) const { return texts_[Index(id)]; }
  bool IsText(int32_t id) const { return !text(id).empty(); }
  bool IsByte(int32_t id) const { return kinds_[Index(id)] == TokenKind::kByte; }
  // Whether the token ends an utterance; whether any does. Throws as name does.
  bool IsEnd(int32_t id) const { return kinds_[Index(id)] == TokenKind::kEnd; }
  bool has_end_tokens() const { return has_end_tokens_; }

  // Hypothesis::language of these tokens.
  std::string LanguageOf(const std::vector<int32_t>& ids) const;

  // The same vocabulary, but special tokens are text: their names, as words of their own where the
  // vocabulary has word boundaries.
  TokenTable WithSpecialTokens() const;

  // How many vocabularies of languages there are, and the index of that which has the token; none
  // for a token of no language. Throws as name does.
  int num_vocabularies() const { return static_cast<int>(vocabulary_ends_.size()); }
  std::optional<int> VocabularyOf(int32_t id) const;

  // Whether the token consists of punctuation marks and follows a word: it has no word boundary.
  // Throws as name does.
  bool IsPunctuation(int32_t id) const { return is_punctuation_[Index(id)] != 0; }

  // The tokens joined, with one space for each word boundary, none at the ends, and without blanks.
  // Throws std::invalid_argument for an id out of range.
  std::string Text(const std::vector<int32_t>& ids) const;

  // Appends to `text`, which ends as `end` says, what one more token adds; updates `end`. Bytes add
  // nothing until they are a character, or cannot become one. Throws std::invalid_argument for an
  // id out of range.
  void AppendText(int32_t id, TextEnd* end, std::string* text) const;
  // Appends what the bytes of an unfinished character add at the end of the tokens.
  static void FinishText(TextEnd* end, std::string* text);

  // What the tokens add to the text, in their order.
  std::vector<TextPiece> Pieces(const std::vector<int32_t>& ids,
                                UnfinishedCharacter unfinished) const;

  // The words of timed tokens. A token without text, such as a boundary alone, belongs to no word.
  // Words do not overlap if the tokens do not: several words of one token divide its time equally.
  // Text is the words in order, with a space before those that a word boundary precedes.
  std::vector<Word> Words(const std::vector<Token>& tokens,
                          UnfinishedCharacter unfinished = UnfinishedCharacter::kReplace) const;

  // Whether the text of the tokens begins, and ends, with a word boundary: whether a space parts it
  // from text before, and after it.
  bool BeginsWord(const std::vector<int32_t>& ids) const;
  bool EndsWord(const std::vector<int32_t>& ids) const;

  // Sets what follows from the tokens of a hypothesis: text, words, begins_word, ends_word,
  // language.
  void Complete(Hypothesis* hypothesis,
                UnfinishedCharacter unfinished = UnfinishedCharacter::kReplace) const;

 private:
  size_t Index(int32_t id) const;
  void SetVocabularies(const std::vector<LanguageVocabulary>& vocabularies);
  void ReadNames(const std::string& units_text, const std::string& source);
  void SetKind(const SpecialToken& token, const std::string& source);
  // That a token tells; "" for none.
  const std::string& LanguageOfToken(int32_t id) const;

  std::vector<std::string> names_;
  std::vector<std::string> texts_;  // names with a space for U+2581; "" where they are no text
  std::vector<std::optional<TokenKind>> kinds_;  // none: the token stands for its name
  std::map<int32_t, std::string> tags_;          // languages of the tokens of kLanguage
  std::vector<int32_t> vocabulary_ends_;         // the id after the last one of each
  std::vector<std::string> vocabulary_languages_;
  bool has_end_tokens_ = false;
  std::vector<char> is_punctuation_;
  int32_t blank_id_;
  bool has_boundaries_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TOKEN_TABLE_H_
