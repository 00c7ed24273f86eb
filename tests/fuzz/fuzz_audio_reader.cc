// Audio files: bodies of requests, and whatever else is called audio.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RUNNEL_FUZZ_SANITIZED
#include <sanitizer/lsan_interface.h>
#endif
#endif

#include "frontend/audio_reader.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/without_media.h"
#include "tests/fuzz/work_bound.h"

namespace {

void Read(const std::string& file, const runnel::AudioReaderOptions& options) {
  // A few bytes of FLAC can stand for hours of silence; the beginning is enough here.
  constexpr size_t kMaxSamples = 1 << 16;
  try {
    runnel::AudioReader reader = runnel::AudioReader::FromBytes(file, "input", options);
    std::vector<float> samples(kMaxSamples);
    const size_t count = reader.Read(samples.data(), samples.size());
    runnel::fuzz::Require(count <= samples.size(), "no more samples than asked for");
    for (size_t i = 0; i < count; ++i) {
      runnel::fuzz::Require(std::isfinite(samples[i]), "samples are finite");
    }
  } catch (const std::runtime_error&) {
    // A file that is refused in one line.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  runnel::fuzz::DecodeWithoutMedia();
  const std::string file(reinterpret_cast<const char*>(data), size);
  // As a server.
  runnel::AudioReaderOptions options;
  options.only_common_formats = true;
  const runnel::fuzz::WorkBound work;
  Read(file, options);
  if (!work.Holds(0.1 + 1e-5 * static_cast<double>(size))) {
    return runnel::fuzz::TryAgain(LLVMFuzzerTestOneInput, data, size);
  }
  // As the command line, where a leak of libsndfile does no harm.
#ifdef RUNNEL_FUZZ_SANITIZED
  const __lsan::ScopedDisabler no_leaks;
#endif
  Read(file, {});
  return 0;
}
