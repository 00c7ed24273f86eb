// Audio files that tests write for themselves. Link PkgConfig::sndfile.
#ifndef RUNNEL_TESTS_SUPPORT_AUDIO_FILES_H_
#define RUNNEL_TESTS_SUPPORT_AUDIO_FILES_H_

#include <gtest/gtest.h>
#include <sndfile.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace runnel::testing {

// Writes interleaved samples in [-1, 1]; `format` is libsndfile's, e.g. SF_FORMAT_WAV |
// SF_FORMAT_PCM_16.
inline void WriteAudio(const std::string& path, const std::vector<float>& samples, int channels,
                       int rate_hz, int format) {
  SF_INFO info = {};
  info.channels = channels;
  info.samplerate = rate_hz;
  info.format = format;
  SNDFILE* const file = sf_open(path.c_str(), SFM_WRITE, &info);
  ASSERT_NE(file, nullptr) << path << ": " << sf_strerror(nullptr);
  const auto frames = static_cast<sf_count_t>(samples.size() / static_cast<std::size_t>(channels));
  EXPECT_EQ(sf_writef_float(file, samples.data(), frames), frames);
  EXPECT_EQ(sf_close(file), 0);
}

// `value` as `size` bytes, lowest first.
inline std::string LittleEndianBytes(std::uint64_t value, std::size_t size) {
  std::string bytes;
  for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

// One RIFF chunk, padded to an even size.
inline std::string Chunk(const std::string& id, const std::string& body) {
  return id + LittleEndianBytes(body.size(), 4) + body + std::string(body.size() % 2, '\0');
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_AUDIO_FILES_H_
