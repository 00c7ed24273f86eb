#include "tools/client/audio_track.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "frontend/audio_reader.h"

namespace runnel::client {
namespace {

constexpr size_t kBlockSize = 16384;  // samples
constexpr float kPcm16Scale = 32768.0F;

void AppendLittleEndian(uint32_t bits, int size, std::string* bytes) {
  for (int i = 0; i < size; ++i) bytes->push_back(static_cast<char>(bits >> (8 * i) & 0xFF));
}

}  // namespace

void AudioTrack::Append(std::string bytes) {
  if (bytes.empty()) return;
  const auto count = static_cast<int64_t>(bytes.size()) / sample_size_;
  blocks_.push_back({num_samples_, std::move(bytes)});
  num_samples_ += count;
}

AudioSlice AudioTrack::Slice(int64_t first, int64_t max_samples) const {
  if (first >= num_samples_) return {};
  const auto next =
      std::upper_bound(blocks_.begin(), blocks_.end(), first,
                       [](int64_t sample, const Block& block) { return sample < block.begin; });
  const Block& block = *std::prev(next);
  const int64_t offset = first - block.begin;
  const int64_t rest = static_cast<int64_t>(block.bytes.size()) / sample_size_ - offset;
  const int64_t count = std::min(max_samples, rest);
  return {block.bytes.data() + offset * sample_size_, count,
          static_cast<size_t>(count * sample_size_)};
}

std::string EncodeSamples(const float* samples, size_t count, SampleEncoding encoding) {
  std::string bytes;
  bytes.reserve(count * static_cast<size_t>(SampleSize(encoding)));
  for (size_t i = 0; i < count; ++i) {
    if (encoding == SampleEncoding::kPcm16) {
      const float scaled = std::clamp(std::round(samples[i] * kPcm16Scale), -32768.0F, 32767.0F);
      AppendLittleEndian(static_cast<uint32_t>(static_cast<int32_t>(scaled)), 2, &bytes);
    } else {
      uint32_t bits = 0;
      std::memcpy(&bits, &samples[i], sizeof(bits));
      AppendLittleEndian(bits, 4, &bytes);
    }
  }
  return bytes;
}

AudioSource OpenAudio(const std::string& path, int sample_rate_hz) {
  AudioReader reader(path);
  const int rate_hz = sample_rate_hz == 0 ? reader.sample_rate_hz() : sample_rate_hz;
  return {std::move(reader), rate_hz};
}

std::shared_ptr<const AudioTrack> ReadTrack(const std::string& path, int sample_rate_hz,
                                            SampleEncoding encoding) {
  AudioSource source = OpenAudio(path, sample_rate_hz);
  std::string bytes;
  std::vector<float> block(kBlockSize);
  while (const size_t count = source.Read(block.data(), block.size())) {
    bytes += EncodeSamples(block.data(), count, encoding);
  }
  const auto track = std::make_shared<AudioTrack>(source.rate_hz(), encoding);
  track->Append(std::move(bytes));
  track->SetComplete();
  return track;
}

}  // namespace runnel::client
