// Forms of uploaded recordings: the first line of the input is the content type, the rest the body.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/protocol_fuzzing.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/work_bound.h"
#include "tools/server/recordings/multipart_form.h"
#include "tools/server/recordings/recording_request.h"

using runnel::fuzz::Require;

namespace {

void ReadParts(std::string_view content_type, std::string_view body) {
  try {
    const char* end = body.data();
    for (const runnel::server::FormPart& part :
         runnel::server::ReadMultipartForm(content_type, body)) {
      Require(part.value.data() >= end, "parts come one after the other");
      end = part.value.data() + part.value.size();
      Require(end <= body.data() + body.size(), "parts are within the body");
    }
  } catch (const std::runtime_error& error) {
    Require(std::string_view(error.what()).find('\n') == std::string_view::npos, "one line");
  }
}

void ReadRequest(std::string_view content_type, std::string_view body) {
  try {
    const auto request = runnel::server::ReadTranscriptionRequest(content_type, std::string(body),
                                                                  runnel::fuzz::Units());
    Require(request.format != nullptr, "a request has a format");
    Require(request.recording.audio().size() <= body.size(), "the audio is within the body");
    request.recording.start.options.values.stream.endpoints.Validate();
  } catch (const runnel::server::FieldMistake&) {
    // A form that is refused.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = input.find('\n');
  if (line == std::string_view::npos) return 0;
  const runnel::fuzz::WorkBound work;
  ReadParts(input.substr(0, line), input.substr(line + 1));
  ReadRequest(input.substr(0, line), input.substr(line + 1));
  if (!work.Holds(0.05 + 1e-5 * static_cast<double>(size))) {
    return runnel::fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
  }
  return 0;
}
