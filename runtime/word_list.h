// The words that a search is restricted to, read from a file.
#ifndef RUNNEL_RUNTIME_WORD_LIST_H_
#define RUNNEL_RUNTIME_WORD_LIST_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace runnel {

class TokenTable;
class WordTree;

// The words of one file, spelled in the tokens of one model. Immutable: every method may be called
// from several threads.
class WordList {
 public:
  // Largest size of the text, in bytes.
  static constexpr size_t kMaxTextSize = size_t{1} << 23;

  // `text` (UTF-8) has one spelling per line, as Kaldi's lexicon.txt and flashlight's lexicon
  // files. Fields are separated by spaces or tabs:
  //   WORD token token ...   a word and the tokens that spell it
  //   WORD                   spelled by its characters, after a word boundary if the model has one;
  //                          only for models whose tokens are single characters
  // A word may have several lines. The tokens must spell the word, because the text of a result is
  // made of tokens. U+2581 within WORD stands for a space ("turn▁on"). In a model with word
  // boundaries, either every spelling begins with one or every spelling ends with one, so that
  // words do not run together. Empty lines and lines that begin with # are ignored. Lines may end
  // in CRLF, and the text may begin with a byte order mark.
  //
  // Throws std::runtime_error "source:line: what is wrong", or one naming `source` when no word is
  // listed or the text is larger than kMaxTextSize.
  WordList(const std::string& text, const TokenTable& tokens, const std::string& source);
  ~WordList();
  WordList(const WordList&) = delete;
  WordList& operator=(const WordList&) = delete;

  // Reads the text from the file `path`. Throws std::runtime_error as above and when the file
  // cannot be read.
  static std::shared_ptr<const WordList> Read(const std::string& path, const TokenTable& tokens);

  // Of the model that the words are spelled for; a search throws when they are not its own.
  int vocab_size() const { return vocab_size_; }
  int32_t blank_id() const { return blank_id_; }

  // 32 lower-case hexadecimal digits, equal for equal words and tokens.
  const std::string& fingerprint() const { return fingerprint_; }

  // Internal: the spellings, for a search (runtime/text/word_tree.h).
  const WordTree& tree() const { return *tree_; }

 private:
  int vocab_size_;
  int32_t blank_id_;
  std::unique_ptr<const WordTree> tree_;
  std::string fingerprint_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_WORD_LIST_H_
