#include "tools/server/samples/raw_media_decoder.h"

#include <algorithm>
#include <cstddef>

namespace runnel::server {

RawMediaDecoder::RawMediaDecoder(SampleEncoding encoding, int rate_hz, int channels)
    : decoder_(MakeSampleDecoder(encoding)), rate_hz_(rate_hz), channels_(channels) {
  decoder_->SetSampleRate(rate_hz);
}

size_t RawMediaDecoder::max_part_bytes() const {
  return std::max(MediaDecoder::max_part_bytes(), decoder_->max_part_bytes());
}

std::vector<float> RawMediaDecoder::Decode(std::string_view piece) {
  std::vector<float> samples = decoder_->Decode(piece);
  if (channels_ == 1) return samples;
  size_t count = 0;
  for (const float sample : samples) {
    sum_ += sample;
    if (++num_summed_ < channels_) continue;
    samples[count++] = sum_ / static_cast<float>(channels_);
    sum_ = 0;
    num_summed_ = 0;
  }
  samples.resize(count);
  return samples;
}

}  // namespace runnel::server
