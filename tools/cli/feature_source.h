// Feature frames in blocks, from audio or from a NumPy file, for tools that work on frames.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_FEATURE_SOURCE_H_
#define RUNNEL_TOOLS_FEATURE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frontend/audio_source.h"
#include "frontend/feature_stream.h"
#include "frontend/frame_extractor.h"
#include "tools/npy.h"

namespace runnel {

// One thread at a time.
class FeatureSource {
 public:
  virtual ~FeatureSource() = default;

  // Up to `max_frames` further frames into `frames`, (max_frames, dim()); returns how many: fewer
  // only at the end, 0 from then on. Throws std::runtime_error on bad data.
  virtual int64_t Read(float* frames, int64_t max_frames) = 0;

  virtual int64_t dim() const = 0;

  // The same as a vector, (n, dim()), which grows with what is there, not with `max_frames`.
  std::vector<float> ReadVector(int64_t max_frames);
};

// An audio file ("-": standard input) through `extractor`. channel: from 0; -1: the mean of all.
class AudioFeatureSource : public FeatureSource {
 public:
  // Throws as AudioSource and FeatureStream do; Read, too, but names the file.
  AudioFeatureSource(const std::string& path, int channel,
                     const std::shared_ptr<const FrameExtractor>& extractor, float sample_scale);

  int64_t Read(float* frames, int64_t max_frames) override;
  int64_t dim() const override { return features_.dim(); }

 private:
  const std::string path_;
  AudioSource audio_;
  FeatureStream features_;
  std::vector<float> block_;  // samples just read
};

// A matrix (frames, dim) in a .npy file.
class NpyFeatureSource : public FeatureSource {
 public:
  // Throws std::runtime_error as NpyReader does, and when the file has not `dim` columns.
  NpyFeatureSource(const std::string& path, int64_t dim);

  // Throws std::runtime_error also when a value is not finite, naming row and column, from 0.
  int64_t Read(float* frames, int64_t max_frames) override;
  int64_t dim() const override { return reader_.num_columns(); }

 private:
  const std::string path_;
  NpyReader reader_;
  int64_t frames_read_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_FEATURE_SOURCE_H_
