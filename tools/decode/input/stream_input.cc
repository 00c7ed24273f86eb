#include "tools/decode/input/stream_input.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "frontend/audio_source.h"
#include "tools/cli/feature_source.h"

namespace runnel {
namespace {

// Reading from a pipe waits for a whole block, so the block bounds the delay of partial results.
constexpr int kBlocksPerSecond = 20;

class AudioInput final : public StreamInput {
 public:
  AudioInput(const std::string& path, const Model& model, const AudioReaderOptions& options)
      : audio_(path, model.sample_rate_hz(), options),
        block_(static_cast<size_t>(std::max(1, model.sample_rate_hz() / kBlocksPerSecond))) {}

  bool EndsWithin(double seconds) override { return audio_.EndsWithin(seconds); }

  bool Feed(Stream* stream) override {
    const size_t num_samples = audio_.Read(block_.data(), block_.size());
    stream->AcceptSamples(block_.data(), num_samples);
    if (num_samples == block_.size()) return true;
    stream->Finish();
    return false;
  }
  double seconds_read() const override { return audio_.seconds_read(); }
  std::optional<double> announced_s() const override { return audio_.announced_s(); }
  std::vector<std::string> Warnings() const override { return audio_.Warnings(); }

 private:
  AudioSource audio_;
  std::vector<float> block_;  // samples just read
};

class FeatureInput final : public StreamInput {
 public:
  FeatureInput(const std::string& path, const Model& model)
      : features_(path, model.feature_dim()), frame_s_(model.feature_frame_ms() / 1000) {}

  bool EndsWithin(double seconds) override {
    return static_cast<double>(features_.num_frames()) * frame_s_ <= seconds;
  }

  bool Feed(Stream* stream) override {
    const std::vector<float> block = features_.ReadVector(kBlockFrames);
    const size_t num_frames = block.size() / static_cast<size_t>(features_.dim());
    stream->AcceptFeatures(block.data(), num_frames);
    seconds_read_ += static_cast<double>(num_frames) * frame_s_;
    if (num_frames == kBlockFrames) return true;
    stream->Finish();
    return false;
  }
  double seconds_read() const override { return seconds_read_; }
  std::optional<double> announced_s() const override { return std::nullopt; }
  std::vector<std::string> Warnings() const override { return {}; }

 private:
  static constexpr int64_t kBlockFrames = 64;

  NpyFeatureSource features_;
  double frame_s_;
  double seconds_read_ = 0;
};

}  // namespace

std::unique_ptr<StreamInput> OpenStreamInput(InputKind kind, const std::string& path,
                                             const Model& model,
                                             const AudioReaderOptions& options) {
  if (kind == InputKind::kFeatures) return std::make_unique<FeatureInput>(path, model);
  return std::make_unique<AudioInput>(path, model, options);
}

}  // namespace runnel
