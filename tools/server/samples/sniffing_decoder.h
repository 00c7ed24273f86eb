// Decodes audio whose format its first bytes tell.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_SNIFFING_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_SNIFFING_DECODER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/media/container.h"
#include "frontend/media/recording_scanner.h"
#include "tools/server/samples/media_decoder.h"

namespace runnel::server {

// WAV, Ogg Opus, or what MediaStreamDecoder decodes. A recording that follows in another container
// is refused, because the decoder of the first would pass over it, or call it damage. WavDecoder,
// behind whose files others may stand, looks for it itself.
class SniffingDecoder : public MediaDecoder {
 public:
  // `headerless`: decodes audio that is in none of these formats; null when it is to be refused.
  explicit SniffingDecoder(std::unique_ptr<MediaDecoder> headerless)
      : headerless_(std::move(headerless)) {}

  std::vector<float> Decode(std::string_view piece) override;
  std::vector<float> Finish() override;
  bool is_costly() const override { return decoder_ == nullptr || decoder_->is_costly(); }
  bool uses_process() const override { return decoder_ != nullptr && decoder_->uses_process(); }
  size_t max_part_bytes() const override {
    return decoder_ == nullptr ? kPartBytes : decoder_->max_part_bytes();
  }
  bool has_more() const override {
    return is_end_due_ || (decoder_ != nullptr && decoder_->has_more());
  }
  int sample_rate_hz() const override {
    return decoder_ == nullptr ? 0 : decoder_->sample_rate_hz();
  }

  std::vector<std::string> warnings() const override {
    return decoder_ == nullptr ? std::vector<std::string>() : decoder_->warnings();
  }

 private:
  // Of the bytes so far.
  ContainerMatch Find() const;
  std::unique_ptr<MediaDecoder> DecoderOf(const Container& container) const;
  std::unique_ptr<MediaDecoder> HeaderlessDecoder();
  // Those of the bytes so far, and not returned yet, that precede what may be another recording.
  std::string TakeClear(std::string_view piece);

  std::unique_ptr<MediaDecoder> headerless_;
  std::string begin_;                      // the bytes so far, while they are too few
  std::unique_ptr<MediaDecoder> decoder_;  // null until the format is known
  const Container* container_ = nullptr;   // with scanner_
  std::optional<RecordingScanner> scanner_;
  // The bytes from scanner_->num_clear() on: at the end, a few that only began like a recording.
  std::string held_;
  bool is_end_due_ = false;  // decoder_ has got the last bytes, but its Finish was not called yet
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_SNIFFING_DECODER_H_
