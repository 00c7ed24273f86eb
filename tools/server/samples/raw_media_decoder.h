// Decodes samples without a header, whose encoding, rate and channels the client states.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_RAW_MEDIA_DECODER_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_RAW_MEDIA_DECODER_H_

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "tools/server/samples/media_decoder.h"
#include "tools/server/samples/sample_decoder.h"

namespace runnel::server {

class RawMediaDecoder : public MediaDecoder {
 public:
  // `channels`: of interleaved samples, 1 to kMaxChannels; 1 for Opus packets, which state theirs.
  RawMediaDecoder(SampleEncoding encoding, int rate_hz, int channels);

  std::vector<float> Decode(std::string_view piece) override;
  size_t max_part_bytes() const override;
  bool is_costly() const override { return decoder_->is_costly(); }
  int sample_rate_hz() const override { return rate_hz_; }

 private:
  const std::unique_ptr<SampleDecoder> decoder_;
  const int rate_hz_;
  const int channels_;
  // The samples of an instant whose other channels have not come yet.
  float sum_ = 0;
  int num_summed_ = 0;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_RAW_MEDIA_DECODER_H_
