// Decodes a WAV file that comes in pieces.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_WAV_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_WAV_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/server/samples/media_decoder.h"

namespace runnel::server {

// RIFF WAVE (Microsoft, "Multiple channel audio data and WAVE files", 2001) with PCM of 16 bits,
// float of 32 bits, A-law or mu-law. libsndfile reads files, not pieces that others push. Chunks
// other than "fmt " and "data" are passed over, and so is everything after the data. Data whose
// length is 0 or the largest number, as programs write that do not know it yet, has no end.
class WavDecoder : public MediaDecoder {
 public:
  static constexpr std::string_view kRiff = "RIFF";  // the first bytes of a file
  static constexpr std::string_view kWave = "WAVE";  // bytes 8 to 11

  std::vector<float> Decode(std::string_view piece) override;
  int sample_rate_hz() const override { return data_ == nullptr ? 0 : data_->sample_rate_hz(); }

 private:
  enum class Part {
    kRiffHeader,   // "RIFF", size, "WAVE"
    kChunkHeader,  // name, size
    kFormat,       // of the chunk "fmt "
    kOtherChunk,
    kData,
    kRest  // after the data
  };

  // Moves bytes from `piece` to header_ until it has `size`; false when there are too few.
  bool ReadHeader(size_t size, std::string_view* piece);
  void OnRiffHeader();
  void OnChunkHeader();
  void OnFormat();

  Part part_ = Part::kRiffHeader;
  std::string header_;                  // of the present part, so far
  uint64_t left_ = 0;                   // bytes of the present chunk
  std::unique_ptr<MediaDecoder> data_;  // null before the format
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_WAV_DECODER_H_
