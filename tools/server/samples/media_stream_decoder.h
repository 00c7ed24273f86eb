// Decodes a recording that comes in pieces, by the program media_decoder.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_MEDIA_STREAM_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_MEDIA_STREAM_DECODER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/media/container.h"
#include "frontend/media/media_process.h"
#include "tools/server/samples/media_decoder.h"

namespace runnel::server {

// Every container but WAV and Ogg Opus, such as those of browsers' recorders: WebM and MP4. Each
// has a process of its own, which is too much for hundreds of streams of Ogg Opus (OggOpusDecoder).
class MediaStreamDecoder : public MediaDecoder {
 public:
  // Samples of one Decode after which has_more() is true.
  static constexpr size_t kMostSamples = 48000;

  // `container`: one that has a demuxer.
  explicit MediaStreamDecoder(const Container& container);

  std::vector<float> Decode(std::string_view piece) override;
  std::vector<float> Finish() override;
  bool has_more() const override { return has_more_; }
  bool is_costly() const override { return true; }
  bool uses_process() const override { return true; }
  int sample_rate_hz() const override { return rate_hz_; }
  std::vector<std::string> warnings() const override;

 private:
  // Calls `use`, which may use the process.
  template <typename Function>
  void Guard(const Function& use);
  // Appends samples that the bytes so far have completed, up to kMostSamples; true: there may be
  // more.
  bool ReadSamples(std::vector<float>* samples);
  void CheckFormat();
  [[noreturn]] void Fail(const std::string& problem) const;

  const Container& container_;
  std::unique_ptr<MediaProcess> process_;  // null before the second call
  std::string rest_;                       // of the pieces, which the process did not get yet
  bool has_more_ = false;
  int rate_hz_ = 0;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_MEDIA_STREAM_DECODER_H_
