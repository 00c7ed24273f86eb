// Phrases that a search prefers, read from a file: names, terms and commands that the audio is
// likely to contain.
#ifndef RUNNEL_RUNTIME_HOTWORDS_H_
#define RUNNEL_RUNTIME_HOTWORDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace runnel {

class HotwordAutomaton;
class TokenTable;

// The phrases of one list, prepared for the vocabulary of one model. Immutable: every method may be
// called from several threads.
//
// A search adds the bonus of a hypothesis to its log probability (natural logarithm). The bonus of
// a text is the sum of
//   - score * characters of the phrase, for each occurrence of each phrase, and
//   - until the end of the utterance, the potential of the unfinished phrase at the end of the
//     text: the largest score * characters so far among the phrases that continue it, or 0 if all
//     their scores are negative.
// The potential makes a search keep a hypothesis until a phrase is complete. A phrase that is not
// completed adds 0 in the end. Phrases that overlap or contain each other count separately. So that
// an unfinished phrase does not push out the words that are said, a search also keeps the
// hypotheses that are best without the potential: as many as a quarter of its beam size, rounded
// up.
//
// In a transducer the bonus grows with a token by at most the token's negative log probability
// (runtime/search/transducer_beam_search.h).
//
// Characters are Unicode code points without word boundaries. The bonus therefore depends on the
// text only, not on the tokens that spell it. docs/hotwords.md has the matching rules.
class Hotwords {
 public:
  // Largest size in bytes of the list, also with a score for every phrase.
  static constexpr size_t kMaxTextSize = size_t{1} << 23;
  // Largest size in bytes of a phrase.
  static constexpr size_t kMaxPhraseSize = 1024;
  // A score is a bonus per character. The default lies between those of sherpa-onnx (1.5 per token)
  // and WeNet (3.0 per token), for tokens of three characters. docs/accuracy.md has measurements.
  static constexpr float kDefaultScore = 0.75F;
  static constexpr float kMaxScore = 100;  // magnitude

  // `text` (UTF-8) has a phrase per line, and optionally its score. Fields are separated by spaces
  // or tabs:
  //   WORD WORD ... :SCORE
  //   WORD WORD ...          has the default score
  // The last field is a score when it begins with ':' and is not the only field. A negative score
  // makes the search avoid the phrase. U+2581 is a space. Of phrases that differ only in the white
  // space and letter case that matching ignores, the largest score counts. Empty lines and lines
  // that begin with # are ignored. Lines may end in CRLF, and the text may begin with a byte order
  // mark.
  //
  // Throws std::runtime_error "source:line: what is wrong", also for a phrase that the tokens
  // cannot spell, or one naming `source` when no phrase is listed or the text is larger than
  // kMaxTextSize; std::invalid_argument when default_score is not within -kMaxScore to kMaxScore.
  Hotwords(const std::string& text, const TokenTable& tokens, float default_score,
           const std::string& source);
  ~Hotwords();
  Hotwords(const Hotwords&) = delete;
  Hotwords& operator=(const Hotwords&) = delete;

  // Reads the text from the file `path`. Throws as above, and std::runtime_error when the file
  // cannot be read.
  static std::shared_ptr<const Hotwords> Read(const std::string& path, const TokenTable& tokens,
                                              float default_score);

  // The phrases in the order of the list, each once.
  size_t num_phrases() const { return phrases_.size(); }

  // A phrase as it is first listed, its words joined by single spaces. Throws std::out_of_range
  // when there are not so many.
  const std::string& phrase(size_t index) const { return phrases_.at(index); }

  // A list that makes equal hotwords with any default score, for snapshots: every phrase once, with
  // its score.
  const std::string& text() const { return text_; }

  // Of the model that the hotwords were made for; a search throws when they are not its own.
  int vocab_size() const { return vocab_size_; }
  int32_t blank_id() const { return blank_id_; }

  // Internal: finds the phrases, for a search (runtime/hotwords/hotword_automaton.h).
  const HotwordAutomaton& automaton() const { return *automaton_; }

 private:
  int vocab_size_;
  int32_t blank_id_;
  std::vector<std::string> phrases_;
  std::string text_;
  std::unique_ptr<const HotwordAutomaton> automaton_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_HOTWORDS_H_
