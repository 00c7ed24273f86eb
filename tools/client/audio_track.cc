#include "tools/client/audio_track.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "frontend/audio_reader.h"

namespace runnel::client {
namespace {

constexpr size_t kBlockSize = 16384;  // samples

}  // namespace

void AudioTrack::Append(std::vector<float> samples) {
  if (samples.empty()) return;
  const auto count = static_cast<int64_t>(samples.size());
  blocks_.push_back({num_samples_, std::move(samples)});
  num_samples_ += count;
}

AudioSlice AudioTrack::Slice(int64_t first, int64_t max_samples) const {
  if (first >= num_samples_) return {};
  const auto next =
      std::upper_bound(blocks_.begin(), blocks_.end(), first,
                       [](int64_t sample, const Block& block) { return sample < block.begin; });
  const Block& block = *std::prev(next);
  const int64_t offset = first - block.begin;
  const int64_t rest = static_cast<int64_t>(block.samples.size()) - offset;
  return {block.samples.data() + offset, std::min(max_samples, rest)};
}

AudioSource OpenAudio(const std::string& path, int sample_rate_hz, SampleEncoding encoding) {
  AudioReader reader(path);
  int rate_hz = sample_rate_hz == 0 ? reader.sample_rate_hz() : sample_rate_hz;
  if (encoding == SampleEncoding::kOpus) rate_hz = OpusRateFor(rate_hz);
  return {std::move(reader), rate_hz};
}

std::shared_ptr<const AudioTrack> ReadTrack(const std::string& path, int sample_rate_hz,
                                            SampleEncoding encoding,
                                            std::vector<std::string>* warnings) {
  AudioSource source = OpenAudio(path, sample_rate_hz, encoding);
  std::vector<float> samples;
  std::vector<float> block(kBlockSize);
  while (const size_t count = source.Read(block.data(), block.size())) {
    samples.insert(samples.end(), block.begin(), block.begin() + static_cast<ptrdiff_t>(count));
  }
  *warnings = source.Warnings();
  const auto track = std::make_shared<AudioTrack>(source.rate_hz());
  track->Append(std::move(samples));
  track->SetComplete();
  return track;
}

}  // namespace runnel::client
