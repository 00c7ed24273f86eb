#include "tools/decode/formats/lines.h"

#include <cstddef>

namespace runnel {
namespace {

constexpr size_t kMinDigits = 4;

}  // namespace

std::string TextLine(const std::string& id, const std::string& text) {
  return text.empty() ? id + "\n" : id + " " + text + "\n";
}

std::string TextLines(const std::string& id, const std::vector<Hypothesis>& hypotheses, int nbest) {
  if (nbest == 1) return TextLine(id, hypotheses.at(0).text);
  std::string lines;
  for (size_t i = 0; i < hypotheses.size(); ++i) {
    lines += TextLine(id + "-" + std::to_string(i + 1), hypotheses[i].text);
  }
  return lines;
}

std::string UtteranceId(const std::string& id, int64_t index) {
  const std::string number = std::to_string(index + 1);
  const size_t zeros = number.size() < kMinDigits ? kMinDigits - number.size() : 0;
  return id + "-" + std::string(zeros, '0') + number;
}

}  // namespace runnel
