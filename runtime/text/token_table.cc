#include "runtime/token_table.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "runtime/log_probs.h"
#include "runtime/utf8.h"

namespace runnel {
namespace {

constexpr std::string_view kBoundary = "\xE2\x96\x81";  // U+2581

struct Unit {
  std::string symbol;
  int id;
};

// Lines without their ends, without the empty ones at the end of the text.
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

bool IsSpaceOrControl(char c) { return (c >= 0 && c <= ' ') || c == '\x7F'; }

// Throws std::runtime_error that starts with `where`.
Unit ParseLine(std::string_view line, const std::string& where) {
  if (!IsUtf8(line)) throw std::runtime_error(where + ": expected UTF-8, got other bytes");
  const size_t space = line.rfind(' ');
  const std::string_view symbol = line.substr(0, std::min(space, line.size()));
  const std::string_view digits = space == line.npos ? "" : line.substr(space + 1);
  if (std::any_of(symbol.begin(), symbol.end(), IsSpaceOrControl) ||
      std::any_of(digits.begin(), digits.end(), IsSpaceOrControl)) {
    throw std::runtime_error(where + ": expected one space, between symbol and id, got more " +
                             "white space or control characters");
  }
  Unit unit{std::string(symbol), 0};
  const char* end = digits.data() + digits.size();
  const auto [parsed_end, error] = std::from_chars(digits.data(), end, unit.id);
  if (symbol.empty() || error != std::errc() || parsed_end != end) {
    throw std::runtime_error(where + ": expected 'symbol id', got '" + std::string(line) + "'");
  }
  return unit;
}

[[noreturn]] void ThrowRepeated(const std::string& what, const Unit& unit,
                                const std::string& where) {
  throw std::runtime_error(where + ": expected every " + what + " once, got '" + unit.symbol + " " +
                           std::to_string(unit.id) + "' after another line with this " + what);
}

// `symbols` has the units so far at their ids, and empty ones elsewhere.
void CheckId(const Unit& unit, const std::vector<std::string>& symbols, const std::string& where) {
  const auto size = static_cast<int>(symbols.size());
  if (unit.id < 0 || unit.id >= size) {
    throw std::runtime_error(where + ": expected an id of 0 to " + std::to_string(size - 1) +
                             ", got " + std::to_string(unit.id));
  }
  if (!symbols[static_cast<size_t>(unit.id)].empty()) ThrowRepeated("id", unit, where);
}

// `symbol` with a space for every word boundary.
std::string BoundariesAsSpaces(const std::string& symbol) {
  std::string text = symbol;
  for (size_t at = text.find(kBoundary); at != text.npos; at = text.find(kBoundary, at)) {
    text.replace(at, kBoundary.size(), " ");
  }
  return text;
}

}  // namespace

TokenTable::TokenTable(const std::string& units_text, int vocab_size, int blank_id,
                       const std::string& source)
    : blank_id_(blank_id) {
  CheckVocabulary(vocab_size, blank_id);
  const std::vector<std::string_view> lines = SplitLines(units_text);
  if (lines.size() != static_cast<size_t>(vocab_size)) {
    throw std::runtime_error(source + ": expected " + std::to_string(vocab_size) +
                             " units as vocab_size says, got " + std::to_string(lines.size()) +
                             " lines");
  }
  symbols_.resize(lines.size());
  std::unordered_set<std::string> known;
  // As many lines as ids, and no id twice: so none is missing.
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string where = source + ": line " + std::to_string(i + 1);
    Unit unit = ParseLine(lines[i], where);
    CheckId(unit, symbols_, where);
    if (!known.insert(unit.symbol).second) ThrowRepeated("symbol", unit, where);
    symbols_[static_cast<size_t>(unit.id)] = std::move(unit.symbol);
  }
  for (const std::string& symbol : symbols_) texts_.push_back(BoundariesAsSpaces(symbol));
  texts_[static_cast<size_t>(blank_id)].clear();
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
  bool at_boundary = true;
  for (const Token& token : tokens) {
    if (!has_boundaries_) at_boundary = true;
    for (const char c : texts_[Index(token.id)]) {
      if (c == ' ') {
        at_boundary = true;
        continue;
      }
      if (at_boundary) words.push_back({"", token.start_ms, token.end_ms, token.confidence});
      at_boundary = false;
      Word& word = words.back();
      word.text += c;
      word.end_ms = token.end_ms;
      word.confidence = std::min(word.confidence, token.confidence);
    }
  }
  return words;
}

}  // namespace runnel
