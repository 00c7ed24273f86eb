#include "tools/decode/formats/caption_cues.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tools/decode/formats/display_width.h"

namespace runnel {
namespace {

// What a line break does not divide.
struct Part {
  std::string text;  // without spaces
  bool has_space;    // before it, unless it begins a line
  double start_ms;
  double end_ms;
};

struct Line {
  std::string text;
  double start_ms;
  double end_ms;
};

std::string WithoutSpaces(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

// What each token adds to the text of a hypothesis.
std::vector<TextPiece> PiecesOf(const Hypothesis& hypothesis, const TokenTable& table) {
  std::vector<int32_t> ids;
  for (const Token& token : hypothesis.tokens) ids.push_back(token.id);
  return table.Pieces(ids, UnfinishedCharacter::kReplace);
}

// The tokens of `word` as parts, or the word itself if one of its tokens belongs to another word
// too. `begin`: bytes of the words before it.
std::vector<Part> SplitWord(const Word& word, size_t begin, bool has_space,
                            const Hypothesis& hypothesis, const TokenTable& table) {
  std::vector<Part> parts;
  size_t position = 0;  // in the joined words
  std::string joined;
  for (const TextPiece& piece : PiecesOf(hypothesis, table)) {
    std::string text = WithoutSpaces(piece.text);
    const size_t start = position;
    position += text.size();
    if (text.empty() || start < begin || position > begin + word.text.size()) continue;
    joined += text;
    parts.push_back({std::move(text), has_space && parts.empty(),
                     hypothesis.tokens[piece.first_token].start_ms,
                     hypothesis.tokens[piece.first_token + piece.num_tokens - 1].end_ms});
  }
  if (joined != word.text) return {{word.text, has_space, word.start_ms, word.end_ms}};
  return parts;
}

std::vector<Part> Parts(const Hypothesis& hypothesis, const TokenTable& table) {
  std::vector<Part> parts;
  size_t position = 0;   // in hypothesis.text
  size_t num_bytes = 0;  // of the words before
  for (const Word& word : hypothesis.words) {
    const bool has_space = hypothesis.text.compare(position, 1, " ") == 0;
    position += word.text.size() + (has_space ? 1 : 0);
    if (DisplayWidth(word.text) > kMaxCaptionColumns) {
      for (Part& part : SplitWord(word, num_bytes, has_space, hypothesis, table)) {
        parts.push_back(std::move(part));
      }
    } else {
      parts.push_back({word.text, has_space, word.start_ms, word.end_ms});
    }
    num_bytes += word.text.size();
  }
  return parts;
}

// Fills each line as far as `columns` permit.
std::vector<Line> Fill(const std::vector<Part>& parts, int columns) {
  std::vector<Line> lines;
  int used = 0;
  for (const Part& part : parts) {
    const std::string added = (part.has_space ? " " : "") + part.text;
    used += DisplayWidth(added);
    if (lines.empty() || used > columns) {
      lines.push_back({part.text, part.start_ms, part.end_ms});
      used = DisplayWidth(part.text);
    } else {
      lines.back().text += added;
      lines.back().end_ms = part.end_ms;
    }
  }
  return lines;
}

// The lines of the least width among those whose number is least.
std::vector<Line> BalancedLines(const std::vector<Part>& parts) {
  std::vector<Line> lines = Fill(parts, kMaxCaptionColumns);
  for (int columns = kMaxCaptionColumns - 1; columns > 0; --columns) {
    std::vector<Line> narrower = Fill(parts, columns);
    if (narrower.size() > lines.size()) break;
    lines = std::move(narrower);
  }
  return lines;
}

}  // namespace

std::vector<CaptionCue> MakeCues(const Utterance& utterance, const TokenTable& tokens) {
  std::vector<CaptionCue> cues;
  for (Line& line : BalancedLines(Parts(utterance.nbest.at(0), tokens))) {
    if (cues.empty() || cues.back().lines.size() == size_t{kMaxCaptionLines}) {
      cues.push_back({line.start_ms, line.end_ms, {}});
    }
    cues.back().end_ms = line.end_ms;
    cues.back().lines.push_back(std::move(line.text));
  }
  if (!cues.empty()) {
    cues.front().start_ms = utterance.start_ms;
    cues.back().end_ms = utterance.end_ms;
  }
  return cues;
}

}  // namespace runnel
