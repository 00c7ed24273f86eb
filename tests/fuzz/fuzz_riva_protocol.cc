// NVIDIA Riva's protocol: serialized requests, as they come from gRPC.
#include <cstddef>
#include <cstdint>
#include <string>

#include "riva_asr.pb.h"
#include "tests/fuzz/protocol_fuzzing.h"
#include "tests/fuzz/work_bound.h"
#include "tools/server/riva/riva_protocol.h"

namespace {

// A response whose strings are UTF-8; otherwise it could not be parsed.
bool IsResponse(const std::string& message) {
  return nvidia::riva::asr::StreamingRecognizeResponse().ParseFromString(message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  runnel::server::RivaProtocol protocol({&runnel::fuzz::Units(), "tiny", {"en"}, 16000}, "call");
  if (runnel::fuzz::Converse(&protocol, {reinterpret_cast<const char*>(data), size}, IsResponse)) {
    return 0;
  }
  return runnel::fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
}
