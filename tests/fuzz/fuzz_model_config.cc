// What a model file says about itself: runnel.json, a zero byte, units.txt.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "runtime/model/model_config.h"
#include "runtime/token_kinds.h"
#include "runtime/token_table.h"
#include "tests/fuzz/require.h"

namespace {

void ReadUnits(const std::string& units, int vocab_size, int blank_id,
               const std::optional<runnel::TokenKinds>& kinds) {
  try {
    const runnel::TokenTable table(units, vocab_size, blank_id, "units.txt", kinds);
    runnel::fuzz::Require(table.size() == vocab_size, "every id has a unit");
  } catch (const std::runtime_error&) {
  } catch (const std::invalid_argument&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\0'), input.size());
  const std::string units = input.substr(std::min(end + 1, input.size()));
  try {
    const runnel::ModelConfig config = runnel::ParseModelConfig(input.substr(0, end), "model.pt");
    ReadUnits(units, config.vocabulary.vocab_size, config.vocabulary.blank_id, config.token_kinds);
  } catch (const std::runtime_error&) {
    // Refused in one line; the units are read all the same.
  }
  ReadUnits(units, static_cast<int>(std::count(units.begin(), units.end(), '\n')), 0, std::nullopt);
  return 0;
}
