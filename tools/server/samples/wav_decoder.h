// Decodes a WAV file that comes in pieces.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_WAV_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_WAV_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/media/recording_scanner.h"
#include "frontend/media/wav_chunks.h"
#include "tools/cli/sample_encoding.h"
#include "tools/server/samples/media_decoder.h"

namespace runnel::server {

// RIFF WAVE (Microsoft, "Multiple channel audio data and WAVE files", 2001) with PCM of 16 bits,
// float of 32 bits, A-law or mu-law. libsndfile reads files, not pieces that others push.
//
// A further file may follow, as from clients that send one for each blob or utterance: its samples
// go on, if their format is the same. Chunks other than "fmt " and "data" are passed over, behind
// the data also zeros and tags (WavTail). Anything else behind the data is an error, and so is a
// recording in another container behind or among the samples.
//
// Data whose length is 0 or about 2 GiB or more, as programs write that do not know it yet, goes on
// to the next file or to the end. So does data that is cut off before another file. Data of length
// 0 before a known chunk is empty.
class WavDecoder : public MediaDecoder {
 public:
  static constexpr std::string_view kRiff = "RIFF";  // the first bytes of a file
  static constexpr std::string_view kWave = "WAVE";  // bytes 8 to 11

  // Of the samples.
  struct Format {
    SampleEncoding encoding = SampleEncoding::kPcm16;
    int rate_hz = 0;
    int channels = 0;

    bool operator!=(const Format& other) const {
      return encoding != other.encoding || rate_hz != other.rate_hz || channels != other.channels;
    }
  };

  std::vector<float> Decode(std::string_view piece) override;
  std::vector<float> Finish() override;
  int sample_rate_hz() const override { return data_ == nullptr ? 0 : format_.rate_hz; }

 private:
  enum class Part {
    kRiffHeader,  // "RIFF", size, "WAVE"
    kChunkHeader,
    kFormat,  // of the chunk "fmt "
    kOtherChunk,
    kPerhapsData,  // behind a chunk "data" of length 0
    kData,
    kBehindData
  };
  // Each reads from `rest`, and returns false when it has too few bytes.
  bool ReadPart(std::string_view* rest, std::vector<float>* samples);
  bool ReadRiffHeader(std::string_view* rest);
  bool ReadChunkHeader(std::string_view* rest);
  bool ReadFormat(std::string_view* rest);
  bool ReadOtherChunk(std::string_view* rest);
  bool ReadData(std::string_view* rest, std::vector<float>* samples);
  bool ReadBehindData(std::string_view* rest);

  // Before the chunk whose id and size these are.
  void BeginChunk(std::string_view id, uint32_t size);
  void BeginData(uint64_t size);
  void Append(std::string_view bytes, std::vector<float>* samples);

  Part part_ = Part::kRiffHeader;
  std::string held_;            // bytes of a part that is not complete
  uint64_t left_ = 0;           // bytes of the present chunk
  bool may_be_padded_ = false;  // the last chunk had an odd size
  bool has_format_ = false;     // of the present file
  // Of the present file, from its data on.
  WavTail behind_{0};
  std::optional<RecordingScanner> scanner_;
  uint64_t num_scanned_ = 0;  // bytes of samples
  uint64_t num_clear_ = 0;    // of these, those that are decoded
  Format format_;
  std::unique_ptr<MediaDecoder> data_;  // null before the first format
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_WAV_DECODER_H_
