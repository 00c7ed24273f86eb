// OpenAI's Realtime protocol. The first byte of the input chooses how the connection was opened.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/protocol_fuzzing.h"
#include "tests/fuzz/work_bound.h"
#include "tools/server/dialects/openai_realtime_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  runnel::server::Opening opening;
  opening.session_id = "1";
  opening.path = runnel::server::OpenAiRealtimeProtocol::kPath;
  if (data[0] % 2 == 1) {
    opening.header = [](std::string_view /*name*/) { return "realtime=v1"; };
  }
  if (data[0] % 4 >= 2) opening.query = {{"intent", "transcription"}};
  runnel::server::OpenAiRealtimeProtocol protocol(opening, runnel::fuzz::Units());
  if (runnel::fuzz::Converse(&protocol, {reinterpret_cast<const char*>(data) + 1, size - 1})) {
    return 0;
  }
  return runnel::fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
}
