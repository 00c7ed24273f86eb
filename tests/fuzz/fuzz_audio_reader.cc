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
#include "tests/fuzz/work_bound.h"

namespace {

// The checksum of an Ogg page whose own checksum is 0 (RFC 3533, section 6, field 7).
uint32_t OggChecksum(const std::string& page) {
  constexpr uint32_t kPolynomial = 0x04c11db7;
  uint32_t checksum = 0;
  for (const char byte : page) {
    checksum ^= static_cast<uint32_t>(static_cast<unsigned char>(byte)) << 24;
    for (int bit = 0; bit < 8; ++bit) {
      checksum = (checksum << 1) ^ ((checksum >> 31) != 0 ? kPolynomial : 0);
    }
  }
  return checksum;
}

// Gives every whole Ogg page its checksum. Otherwise changed pages would never reach a decoder.
void RepairOggPages(std::string* file) {
  constexpr size_t kChecksum = 22, kNumSegments = 26, kSegments = 27;
  const auto byte_at = [file](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>((*file)[i]));
  };
  size_t begin = 0;
  while ((begin = file->find("OggS", begin)) != std::string::npos) {
    if (begin + kSegments > file->size()) return;
    size_t size = kSegments + byte_at(begin + kNumSegments);
    if (begin + size > file->size()) return;
    for (size_t i = kSegments; i < kSegments + byte_at(begin + kNumSegments); ++i) {
      size += byte_at(begin + i);
    }
    if (begin + size > file->size()) return;
    file->replace(begin + kChecksum, 4, 4, '\0');
    const uint32_t checksum = OggChecksum(file->substr(begin, size));
    for (size_t i = 0; i < 4; ++i) {
      (*file)[begin + kChecksum + i] = static_cast<char>(checksum >> (8 * i));
    }
    begin += size;
  }
}

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
  std::string file(reinterpret_cast<const char*>(data), size);
  RepairOggPages(&file);
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
