// Audio files: bodies of requests, and whatever else is called audio.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "frontend/audio_reader.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A few bytes of FLAC can stand for hours of silence; the beginning is enough here.
  constexpr size_t kMaxSamples = 1 << 16;
  runnel::AudioReaderOptions options;
  options.only_wav_and_flac = true;
  try {
    runnel::AudioReader reader = runnel::AudioReader::FromBytes(
        {reinterpret_cast<const char*>(data), size}, "input", options);
    std::vector<float> samples(kMaxSamples);
    const size_t count = reader.Read(samples.data(), samples.size());
    runnel::fuzz::Require(count <= samples.size(), "no more samples than asked for");
    for (size_t i = 0; i < count; ++i) {
      runnel::fuzz::Require(std::isfinite(samples[i]), "samples are finite");
    }
  } catch (const std::runtime_error&) {
    // A file that is refused in one line.
  }
  return 0;
}
