// Vosk's protocol.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/protocol_fuzzing.h"
#include "tests/fuzz/work_bound.h"
#include "tools/server/dialects/vosk_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  runnel::server::VoskProtocol protocol(runnel::fuzz::Units());
  if (runnel::fuzz::Converse(&protocol, {reinterpret_cast<const char*>(data), size})) return 0;
  return runnel::fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
}
