// Reads ARPA text, the format of n-gram models that all toolkits write.
#ifndef RUNNEL_RUNTIME_NGRAM_ARPA_READER_H_
#define RUNNEL_RUNTIME_NGRAM_ARPA_READER_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ngram/image_format.h"
#include "runtime/ngram/line_reader.h"
#include "runtime/ngram/nemo_words.h"

namespace runnel {

// One n-gram of a section.
struct ArpaNgram {
  std::array<std::string_view, kMaxNgramOrder> words;  // as many as the section says
  float log10_prob;                                    // at most 0
  float log10_backoff;                                 // 0 if the line has none
  uint64_t line;
};

// Grammar (Doug Paul's format; SRILM's manual page ngram-format(5)):
//   anything, then \data\, then "ngram K=COUNT" for K = 1, 2, ...;
//   for each K "\K-grams:", then COUNT lines "log10_prob word ... word [log10_backoff]";
//   \end\, then anything.
// Fields are separated by spaces or tabs. Empty lines are ignored. -inf is read as -99.
//
// Every method throws std::runtime_error "source:line: what is wrong".
class ArpaReader {
 public:
  // Reads up to the first section. `nemo_words`: null, or what decodes the words. Both must outlive
  // it.
  explicit ArpaReader(LineReader* lines, const NemoWords* nemo_words = nullptr);

  int order() const { return static_cast<int>(counts_.size()); }
  // The number of n-grams of `length` words, as announced.
  uint64_t count(int length) const { return counts_[static_cast<size_t>(length) - 1]; }
  // The same, or fewer where the rest of the text is too short for so many; 0 if its length is not
  // known. Memory may be reserved for so many.
  uint64_t PlausibleCount(int length) const;

  // Reads the section of n-grams of `length` words. Call it for 1, 2, ..., order(). The n-gram is
  // valid during the call of `visit`.
  void ReadSection(int length, const std::function<void(const ArpaNgram& ngram)>& visit);

  // Reads \end\. After the last section.
  void ReadEnd();

 private:
  void ReadCounts();
  void ParseCount(std::string_view line);
  void ParseNgram(int length, std::string_view line, ArpaNgram* ngram) const;
  // The word as it is, or decoded.
  std::string_view Decoded(std::string_view word) const;
  float ParseNumber(std::string_view field, const char* what) const;
  // Sets line_ to the next line that is not empty. False at the end of the text.
  bool NextLine();
  [[noreturn]] void FailAtEnd(const std::string& expected) const;

  LineReader* lines_;
  const NemoWords* nemo_words_;
  std::vector<uint64_t> counts_;
  std::string_view line_;  // the line that a section ended with
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_ARPA_READER_H_
