// Decodes an Ogg Opus file that comes in pieces.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_OGG_OPUS_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_OGG_OPUS_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/media/recording_clock.h"
#include "tools/server/samples/media_decoder.h"
#include "tools/server/samples/opus_sample_decoder.h"

namespace runnel::server {

// Ogg Opus (RFC 7845) with mono or stereo audio. libogg finds the packets, libopus decodes them at
// the rate of the recording that the header names, or the next rate of Opus, as libsndfile does.
// Streams of a chain are decoded one after the other, at the rate of the first. Streams beside
// it are passed over. A gap between the granules of two pages is silence, before the second page.
class OggOpusDecoder : public MediaDecoder {
 public:
  static constexpr std::string_view kMagic = "OggS";  // the first bytes of a file
  static constexpr size_t kHeadEnd = 47;              // of the bytes that tell its codec
  // Whether a file that begins so is for this decoder: Opus, unless it maps its channels as for
  // more than two (family 1). At least kHeadEnd bytes.
  static bool Begins(std::string_view file);
  // Samples of one Decode after which has_more() is true, not counting the rest of a packet: a
  // second at 48 kHz. Packets of two bytes may hold 120 ms, so that a small piece may hold an hour.
  static constexpr size_t kMostSamples = 48000;

  OggOpusDecoder();
  ~OggOpusDecoder() override;

  std::vector<float> Decode(std::string_view piece) override;
  std::vector<std::string> warnings() const override;
  bool has_more() const override { return has_more_; }
  bool is_costly() const override { return true; }
  int sample_rate_hz() const override { return rate_hz_; }

 private:
  enum class Expected { kStream, kHead, kTags, kAudio };
  struct Pages;  // libogg's state

  // False when libogg has no whole page.
  bool ReadPage();
  // The packets that the pages have completed; false when `samples` are enough before their end.
  bool ReadPackets(std::vector<float>* samples);
  void EndPage();
  void OnHead(std::string_view packet);
  void OnAudio(std::string_view packet, std::vector<float>* samples);
  // Appends the silence before the next packet, if it has come; false when there is more.
  bool WriteSilence(std::vector<float>* samples);
  // Of a page that ends with this granule, in samples.
  int64_t TimeOf(int64_t granule) const;
  // The first sample behind the end of the stream.
  int64_t EndSample() const;

  const std::unique_ptr<Pages> pages_;
  std::string rest_;  // of the pieces, which libogg did not get yet
  bool has_more_ = false;
  OpusSampleDecoder packets_;
  Expected expected_ = Expected::kStream;
  int rate_hz_ = 0;
  float gain_ = 1;
  int64_t pre_skip_ = 0;     // samples at 48 kHz that precede the recording
  int64_t num_to_skip_ = 0;  // samples of these that have not come yet, at the rate
  int64_t num_samples_ = 0;  // of the stream so far, without those
  std::optional<RecordingClock> clock_;
  std::optional<int64_t> next_time_;  // of the packet that begins the next page
  int64_t num_silent_ = 0;            // samples before it
  bool has_packets_ = false;          // of the present page, some may not be read
  bool is_last_page_ = false;         // of its stream
  int64_t end_granule_ = -1;          // of the present page
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_OGG_OPUS_DECODER_H_
