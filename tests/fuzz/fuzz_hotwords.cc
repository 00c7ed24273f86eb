// Lists of hotwords. The first byte chooses the vocabulary; the list's bytes are also its tokens.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "runtime/hotwords.h"
#include "runtime/hotwords/hotword_automaton.h"
#include "runtime/token_table.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/work_bound.h"

namespace {

using runnel::HotwordAutomaton;

const std::array<runnel::TokenTable, 3>& Vocabularies() {
  static const std::array<runnel::TokenTable, 3> vocabularies = {
      runnel::TokenTable("<b> 0\n▁ 1\na 2\n▁ab 3\né 4\n: 5\n1 6\n# 7\n<unk> 8\n", 9, 0, "units"),
      runnel::TokenTable("<b> 0\n中 1\n丰 2\na 3\nB 4\n中a 5\n:1 6\n", 7, 0, "units"),
      runnel::TokenTable("<b> 0\nA▁ 1\nA 2\nB▁A 3\nB 4\n", 5, 0, "units")};
  return vocabularies;
}

// Uses the list for a sequence of tokens.
void Follow(const runnel::Hotwords& hotwords, const std::string& bytes) {
  const HotwordAutomaton& automaton = hotwords.automaton();
  HotwordAutomaton::Node node = HotwordAutomaton::kStart;
  double completed = 0;
  for (const char byte : bytes) {
    const double most = completed + automaton.Potential(node) + automaton.MostGain(node);
    const int32_t token = static_cast<unsigned char>(byte) % hotwords.vocab_size();
    node = automaton.Next(node, token, &completed);
    runnel::fuzz::Require(completed + automaton.Potential(node) <= most, "MostGain is a bound");
  }
  automaton.End(node, &completed);
  runnel::fuzz::Require(std::isfinite(completed), "the bonus is finite");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const runnel::TokenTable& tokens = Vocabularies()[data[0] % Vocabularies().size()];
  const std::string list(reinterpret_cast<const char*>(data) + 1, size - 1);
  const runnel::fuzz::WorkBound work;
  try {
    const runnel::Hotwords hotwords(list, tokens, 0.5F, "list");
    const runnel::Hotwords again(hotwords.text(), tokens, -1, "text");
    runnel::fuzz::Require(again.text() == hotwords.text(), "text() makes an equal list");
    runnel::fuzz::Require(again.num_phrases() == hotwords.num_phrases(), "with all phrases");
    Follow(hotwords, list);
  } catch (const std::runtime_error& error) {
    // Refused in one line.
    runnel::fuzz::Require(std::string(error.what()).rfind("list:", 0) == 0, "only the list is bad");
  }
  if (!work.Holds(0.05 + 2e-5 * static_cast<double>(size))) {
    return runnel::fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
  }
  return 0;
}
