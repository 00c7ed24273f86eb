#include "tools/cli/feature_source.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace runnel {
namespace {

constexpr int64_t kFramesPerRead = 256;

}  // namespace

std::vector<float> FeatureSource::ReadVector(int64_t max_frames) {
  std::vector<float> frames;
  const auto width = static_cast<size_t>(dim());
  int64_t num_frames = 0;
  while (num_frames < max_frames) {
    const int64_t wanted = std::min(max_frames - num_frames, kFramesPerRead);
    frames.resize(static_cast<size_t>(num_frames + wanted) * width);
    const int64_t count = Read(frames.data() + static_cast<size_t>(num_frames) * width, wanted);
    num_frames += count;
    if (count < wanted) break;
  }
  frames.resize(static_cast<size_t>(num_frames) * width);
  return frames;
}

AudioFeatureSource::AudioFeatureSource(const std::string& path, const AudioReaderOptions& options,
                                       const std::shared_ptr<const FrameExtractor>& extractor,
                                       float sample_scale)
    : path_(path),
      audio_(path, static_cast<int>(extractor->geometry().sample_frequency), options),
      features_(extractor, sample_scale),
      block_(static_cast<size_t>(extractor->frame_length())) {}

int64_t AudioFeatureSource::Read(float* frames, int64_t max_frames) {
  int64_t num_frames = 0;
  while (num_frames < max_frames) {
    const auto wanted = static_cast<size_t>(max_frames - num_frames);
    num_frames += static_cast<int64_t>(features_.PopFrames(wanted, frames + num_frames * dim()));
    if (num_frames == max_frames || features_.finished()) break;
    const size_t num_samples = audio_.Read(block_.data(), block_.size());
    try {
      features_.AcceptSamples(block_.data(), num_samples);
    } catch (const std::invalid_argument& error) {  // of bad data
      throw std::runtime_error(path_ + ": " + error.what());
    }
    if (num_samples < block_.size()) features_.Finish();
  }
  return num_frames;
}

NpyFeatureSource::NpyFeatureSource(const std::string& path, int64_t dim)
    : path_(path), reader_(path) {
  if (reader_.num_columns() != dim) {
    throw std::runtime_error(path + ": " + std::to_string(reader_.num_columns()) +
                             " columns, expected " + std::to_string(dim) +
                             ", the feature dimension of the model");
  }
}

int64_t NpyFeatureSource::Read(float* frames, int64_t max_frames) {
  const int64_t num_frames = reader_.Read(frames, max_frames);
  for (int64_t i = 0; i < num_frames * dim(); ++i) {
    if (std::isfinite(frames[i])) continue;
    throw std::runtime_error(path_ + ": row " + std::to_string(frames_read_ + i / dim()) +
                             ", column " + std::to_string(i % dim()) + " (from 0) is " +
                             std::to_string(frames[i]) + ", expected finite float32 numbers");
  }
  frames_read_ += num_frames;
  return num_frames;
}

}  // namespace runnel
