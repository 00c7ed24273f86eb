#include "runtime/ngram/arpa_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <system_error>

#include "platform/number_text.h"

namespace runnel {
namespace {

constexpr std::string_view kSeparators = " \t";
// Rounding makes probabilities near 1 a little larger than 1.
constexpr double kMostLog10Prob = 1e-4;
constexpr float kLogZero = -99;  // as toolkits write it

// Messages quote no more of a line.
std::string Quoted(std::string_view text) {
  constexpr size_t kMost = 60;
  if (text.size() <= kMost) return "'" + std::string(text) + "'";
  return "'" + std::string(text.substr(0, kMost)) + "...'";
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSeparators);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSeparators) + 1 - begin);
}

bool IsSeparator(char c) { return c == ' ' || c == '\t'; }

std::string_view TakeField(std::string_view* rest) {
  size_t begin = 0;
  while (begin < rest->size() && IsSeparator((*rest)[begin])) ++begin;
  size_t end = begin;
  while (end < rest->size() && !IsSeparator((*rest)[end])) ++end;
  const std::string_view field = rest->substr(begin, end - begin);
  rest->remove_prefix(end);
  return field;
}

std::string SectionName(int length) { return "\\" + std::to_string(length) + "-grams:"; }

// Formats that begin like text or are often given by mistake.
std::string KindOf(std::string_view start) {
  const auto begins = [start](std::string_view magic) {
    return start.substr(0, magic.size()) == magic;
  };
  if (begins("\x1F\x8B")) return "is compressed with gzip; gunzip it first";
  if (begins("BZh")) return "is compressed with bzip2; bunzip2 it first";
  if (begins("\xFD"
             "7zXZ"))
    return "is compressed with xz; unxz it first";
  if (begins("\x28\xB5\x2F\xFD")) return "is compressed with zstd; unzstd it first";
  if (begins("mmap lm http://kheafield.com")) {
    return "is a binary model of KenLM; take the ARPA text that build_binary read";
  }
  if (begins("iARPA") || begins("blmt") || begins("Qblmt") || begins("qARPA")) {
    return "is a model in irstlm's own format; compile-lm --text=yes writes ARPA text";
  }
  return "";
}

}  // namespace

ArpaReader::ArpaReader(LineReader* lines, const NemoWords* nemo_words)
    : lines_(lines), nemo_words_(nemo_words) {
  const std::string_view start = lines_->Peek(32);
  if (start.empty()) lines_->FailWhole("is empty; expected ARPA text or a compiled model");
  const std::string kind = KindOf(start);
  if (!kind.empty())
    lines_->FailWhole("expected ARPA text or a compiled model, but the file " + kind);
  while (NextLine()) {
    if (line_ == "\\data\\") {
      ReadCounts();
      return;
    }
  }
  lines_->FailWhole("has no line \\data\\ (" + std::to_string(lines_->number() - 1) +
                    " lines read); expected ARPA text or a compiled model");
}

bool ArpaReader::NextLine() {
  while (lines_->Next(&line_)) {
    line_ = Trimmed(line_);
    if (!line_.empty()) return true;
  }
  return false;
}

void ArpaReader::FailAtEnd(const std::string& expected) const {
  lines_->FailAt(std::max<uint64_t>(lines_->number() - 1, 1),
                 "the text ends here; expected " + expected);
}

void ArpaReader::ReadCounts() {
  while (true) {
    if (!NextLine()) FailAtEnd("'ngram K=COUNT' or \\1-grams:");
    if (line_.front() == '\\') break;
    ParseCount(line_);
  }
  if (counts_.empty()) lines_->Fail("expected 'ngram 1=COUNT', got " + Quoted(line_));
  if (counts_[0] == 0) lines_->Fail("\\data\\ announces no 1-grams; expected at least 1");
}

void ArpaReader::ParseCount(std::string_view line) {
  std::string compact;  // irstlm writes "ngram  1=        12"
  for (const char c : line) {
    if (!IsSeparator(c)) compact += c;
  }
  constexpr std::string_view kKey = "ngram";
  const char* end = compact.data() + compact.size();
  uint64_t length = 0;
  uint64_t count = 0;
  bool is_count = compact.compare(0, kKey.size(), kKey) == 0;
  if (is_count) {
    const auto [equals, error] = std::from_chars(compact.data() + kKey.size(), end, length);
    is_count = error == std::errc() && equals != end && *equals == '=';
    if (is_count) {
      const auto [last, count_error] = std::from_chars(equals + 1, end, count);
      is_count = count_error == std::errc() && last == end;
    }
  }
  if (!is_count) lines_->Fail("expected 'ngram K=COUNT' or \\1-grams:, got " + Quoted(line));
  if (length != counts_.size() + 1) {
    lines_->Fail("expected the count of " + std::to_string(counts_.size() + 1) + "-grams, got " +
                 Quoted(line));
  }
  if (length > kMaxNgramOrder) {
    lines_->Fail("the model has " + std::to_string(length) +
                 "-grams; expected an order of at most " + std::to_string(kMaxNgramOrder));
  }
  if (count > kMaxItems) {
    lines_->Fail("announces " + std::to_string(count) + " n-grams; expected at most " +
                 std::to_string(kMaxItems) + " of one length");
  }
  counts_.push_back(count);
}

uint64_t ArpaReader::PlausibleCount(int length) const {
  // Digit, words of one character after separators, line end.
  const uint64_t shortest_line = 2 + 2 * static_cast<uint64_t>(length);
  return std::min(count(length), lines_->bytes_left() / shortest_line);
}

void ArpaReader::ReadSection(int length, const std::function<void(const ArpaNgram&)>& visit) {
  const std::string name = SectionName(length);
  if (line_ != name) lines_->Fail("expected " + name + ", got " + Quoted(line_));
  const uint64_t expected = count(length);
  const std::string next = length < order() ? SectionName(length + 1) : "\\end\\";
  ArpaNgram ngram;
  uint64_t found = 0;
  while (true) {
    if (!NextLine()) {
      FailAtEnd(std::to_string(expected - found) + " more " + std::to_string(length) +
                "-grams and " + next);
    }
    // A word, not a section, may begin with a backslash; a line of an n-gram begins with a number.
    if (line_.front() == '\\') break;
    if (found == expected) {
      lines_->Fail("expected " + next + " after the " + std::to_string(expected) + " " +
                   std::to_string(length) + "-grams that \\data\\ announces, got " + Quoted(line_));
    }
    ParseNgram(length, line_, &ngram);
    visit(ngram);
    ++found;
  }
  if (found != expected) {
    lines_->Fail("expected " + std::to_string(expected) + " " + std::to_string(length) +
                 "-grams as \\data\\ announces, got " + std::to_string(found));
  }
}

void ArpaReader::ReadEnd() {
  if (line_ != "\\end\\") lines_->Fail("expected \\end\\, got " + Quoted(line_));
}

void ArpaReader::ParseNgram(int length, std::string_view line, ArpaNgram* ngram) const {
  std::string_view rest = line;
  const std::string_view prob = TakeField(&rest);
  for (int i = 0; i < length; ++i) {
    std::string_view& word = ngram->words[static_cast<size_t>(i)];
    word = TakeField(&rest);
    if (word.empty()) {
      lines_->Fail("expected a probability, " + std::to_string(length) +
                   (length == 1 ? " word" : " words") + " and perhaps a back-off weight, got " +
                   Quoted(line));
    }
    word = Decoded(word);
  }
  const std::string_view backoff = TakeField(&rest);
  if (!Trimmed(rest).empty()) {
    lines_->Fail("expected a probability, " + std::to_string(length) +
                 (length == 1 ? " word" : " words") + " and perhaps a back-off weight, got " +
                 Quoted(line));
  }
  ngram->log10_prob = ParseNumber(prob, "a log10 probability");
  if (ngram->log10_prob > kMostLog10Prob) {
    lines_->Fail("the log10 probability of " + Quoted(line) + " is " + std::string(prob) +
                 "; expected at most 0");
  }
  ngram->log10_prob = std::min(ngram->log10_prob, 0.0F);
  ngram->log10_backoff = backoff.empty() ? 0 : ParseNumber(backoff, "a log10 back-off weight");
  ngram->line = lines_->number();
}

std::string_view ArpaReader::Decoded(std::string_view word) const {
  if (nemo_words_ == nullptr) return word;
  const std::optional<std::string_view> decoded = nemo_words_->Decoded(word);
  if (!decoded)
    lines_->Fail("the word is " + Quoted(word) + "; expected " + nemo_words_->Expected());
  return *decoded;
}

float ArpaReader::ParseNumber(std::string_view field, const char* what) const {
  std::string_view digits = field;
  if (digits.size() > 1 && digits.front() == '+' && digits[1] != '-') digits.remove_prefix(1);
  const std::optional<double> value = ReadDouble(digits);
  const bool is_number = value.has_value() && !std::isnan(*value);
  if (is_number && *value == -std::numeric_limits<double>::infinity()) return kLogZero;
  if (!is_number || std::abs(*value) > std::numeric_limits<float>::max()) {
    lines_->Fail("expected " + std::string(what) + ", got " + Quoted(field));
  }
  return static_cast<float>(*value);
}

}  // namespace runnel
