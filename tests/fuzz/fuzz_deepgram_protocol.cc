// Deepgram's protocol: the first line of the input is the query, without escapes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "tests/fuzz/protocol_fuzzing.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/work_bound.h"
#include "tools/server/dialects/deepgram_protocol.h"
#include "tools/server/protocol/client_json.h"

namespace {

using runnel::server::Opening;

std::string_view TakeUntil(char end, std::string_view* text) {
  const std::string_view part = text->substr(0, text->find(end));
  text->remove_prefix(std::min(part.size() + 1, text->size()));
  return part;
}

Opening OpeningOf(std::string_view query) {
  Opening opening;
  opening.path = "/v1/listen";
  while (!query.empty()) {
    std::string_view value = TakeUntil('&', &query);
    const std::string_view name = TakeUntil('=', &value);
    opening.query.emplace_back(name, value);
  }
  return opening;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const Opening opening = OpeningOf(TakeUntil('\n', &input));
  std::unique_ptr<runnel::server::DeepgramProtocol> protocol;
  try {
    protocol = std::make_unique<runnel::server::DeepgramProtocol>(opening, runnel::fuzz::Units());
  } catch (const runnel::server::ClientMistake& mistake) {
    runnel::fuzz::Require(mistake.what()[0] != '\0', "an error says what is wrong");
    return 0;
  }
  if (runnel::fuzz::Converse(protocol.get(), input)) return 0;
  return runnel::fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
}
