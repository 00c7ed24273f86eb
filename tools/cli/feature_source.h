// Reads feature frames in blocks, from audio or from a NumPy file.
#ifndef RUNNEL_TOOLS_CLI_FEATURE_SOURCE_H_
#define RUNNEL_TOOLS_CLI_FEATURE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frontend/audio_source.h"
#include "frontend/feature_stream.h"
#include "frontend/features/frame_extractor.h"
#include "tools/cli/npy.h"

namespace runnel {

// Used by one thread at a time.
class FeatureSource {
 public:
  virtual ~FeatureSource() = default;

  // Reads up to `max_frames` further frames into `frames`, (max_frames, dim()). Returns their
  // number, which is less than `max_frames` only at the end and 0 afterwards. Throws
  // std::runtime_error on bad data.
  virtual int64_t Read(float* frames, int64_t max_frames) = 0;

  virtual int64_t dim() const = 0;

  // As AudioSource has it.
  virtual std::vector<std::string> Warnings() const { return {}; }

  // The same as a vector, (n, dim()), whose memory grows with n, not with `max_frames`.
  std::vector<float> ReadVector(int64_t max_frames);
};

// The features of an audio file ("-": standard input).
class AudioFeatureSource : public FeatureSource {
 public:
  // Throws as AudioSource and FeatureStream do. Read does too, and names the file.
  AudioFeatureSource(const std::string& path, const AudioReaderOptions& options,
                     const std::shared_ptr<const FrameExtractor>& extractor, float sample_scale);

  int64_t Read(float* frames, int64_t max_frames) override;
  int64_t dim() const override { return features_.dim(); }
  std::vector<std::string> Warnings() const override { return audio_.Warnings(); }

 private:
  const std::string path_;
  AudioSource audio_;
  FeatureStream features_;
  std::vector<float> block_;  // samples just read
};

// A matrix (frames, dim) in a .npy file.
class NpyFeatureSource : public FeatureSource {
 public:
  // Throws std::runtime_error as NpyReader does, and when the file does not have `dim` columns.
  NpyFeatureSource(const std::string& path, int64_t dim);

  // Also throws std::runtime_error for a value that is not finite; it names row and column, from 0.
  int64_t Read(float* frames, int64_t max_frames) override;
  int64_t dim() const override { return reader_.num_columns(); }
  int64_t num_frames() const { return reader_.num_rows(); }

 private:
  const std::string path_;
  NpyReader reader_;
  int64_t frames_read_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_FEATURE_SOURCE_H_
