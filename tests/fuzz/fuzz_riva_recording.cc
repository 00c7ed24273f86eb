// Serialized requests of NVIDIA Riva's Recognize.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/text/utf8.h"
#include "tests/fuzz/protocol_fuzzing.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/work_bound.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/riva/riva_recording.h"

using runnel::fuzz::Require;

namespace {

constexpr size_t kWavHeader = 44;  // bytes

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  const runnel::fuzz::WorkBound work;
  try {
    const auto request = runnel::server::ReadRivaRecording(
        message, {&runnel::fuzz::Units(), "tiny", {"en"}, 16000}, "call");
    const runnel::server::Recording& recording = request.recording;
    Require(recording.audio().size() <= size + kWavHeader, "the file is the audio and a header");
    Require(request.parts.max_alternatives >= 1, "a result has an alternative");
    Require(!request.id.empty() && runnel::IsUtf8(request.id), "an id that a response can have");
    recording.start.options.values.stream.endpoints.Validate();
  } catch (const runnel::server::ClientMistake& mistake) {
    Require(std::string_view(mistake.what()).find('\n') == std::string_view::npos, "one line");
  }
  if (!work.Holds(0.05 + 1e-5 * static_cast<double>(size))) {
    return runnel::fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
  }
  return 0;
}
