// The Wyoming protocol: the input is read as the bytes of a connection, and as a conversation.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/text/utf8.h"
#include "tests/fuzz/protocol_fuzzing.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/work_bound.h"
#include "tools/server/dialects/wyoming_event.h"
#include "tools/server/dialects/wyoming_protocol.h"
#include "tools/server/protocol/client_json.h"

namespace {

using runnel::fuzz::Require;

void ReadConnection(std::string_view bytes) {
  constexpr size_t kMaxPayloadBytes = 1000;
  try {
    while (const auto frame = runnel::server::ReadWyomingFrame(bytes, kMaxPayloadBytes)) {
      if (frame->size > bytes.size()) return;
      const auto event = runnel::server::ReadWyomingEvent(bytes.substr(0, frame->size));
      Require(event.type == frame->type, "a frame is the event");
      Require(event.payload.size() <= kMaxPayloadBytes, "the payload is bounded");
      bytes.remove_prefix(frame->size);
    }
  } catch (const runnel::server::ClientMistake& mistake) {
    Require(mistake.what()[0] != '\0', "an error says what is wrong");
  }
}

// An event without payload that a client can read.
bool IsEvent(const std::string& text) {
  const auto event = runnel::server::ReadWyomingEvent(text);
  return runnel::IsUtf8(text) && !event.type.empty() && event.payload.empty();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  ReadConnection(input);
  runnel::server::WyomingProtocol protocol(runnel::server::WyomingInfo("tiny", {"en"}));
  if (runnel::fuzz::Converse(&protocol, input, IsEvent)) return 0;
  return runnel::fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
}
