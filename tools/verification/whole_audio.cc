#include "tools/verification/whole_audio.h"

#include <cstddef>

#include "frontend/audio_source.h"

namespace runnel {
namespace {

constexpr size_t kSamplesPerRead = 16000;

}  // namespace

std::vector<float> ReadSamples(const std::string& path, int sample_rate_hz,
                               const AudioReaderOptions& options) {
  AudioSource audio(path, sample_rate_hz, options);
  std::vector<float> samples;
  for (size_t size = 0;;) {
    samples.resize(size + kSamplesPerRead);
    const size_t count = audio.Read(samples.data() + size, kSamplesPerRead);
    size += count;
    if (count == kSamplesPerRead) continue;
    samples.resize(size);
    return samples;
  }
}

}  // namespace runnel
