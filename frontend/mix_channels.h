// One sample of each instant of interleaved audio. Private to AudioReader and media_decoder.
#ifndef RUNNEL_FRONTEND_MIX_CHANNELS_H_
#define RUNNEL_FRONTEND_MIX_CHANNELS_H_

#include <cstddef>

namespace runnel {

// `channel`: counted from 0, below `channels`; -1: the mean of all. `samples` may be `values`.
inline void MixChannels(const float* values, size_t count, size_t channels, int channel,
                        float* samples) {
  for (size_t i = 0; i < count; ++i, values += channels) {
    if (channel >= 0) {
      samples[i] = values[channel];
      continue;
    }
    double sum = 0.0;
    for (size_t c = 0; c < channels; ++c) sum += static_cast<double>(values[c]);
    samples[i] = static_cast<float>(sum / static_cast<double>(channels));
  }
}

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MIX_CHANNELS_H_
