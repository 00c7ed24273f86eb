// The interface of feature extractors: the samples of one window to one frame of features.
//
// This folder holds the extractors, Fbank, Mfcc and MelSpectrogram. An extractor is immutable and
// shared by all streams; FeatureStream (frontend/feature_stream.h) holds the state of one stream.
#ifndef RUNNEL_FRONTEND_FEATURES_FRAME_EXTRACTOR_H_
#define RUNNEL_FRONTEND_FEATURES_FRAME_EXTRACTOR_H_

#include <cstdint>
#include <vector>

namespace runnel {

// The values before the first and after the last sample of the audio.
enum class AudioEdge {
  kMirror,   // the audio mirrored, its first and last sample twice: c b a | a b c
  kReflect,  // mirrored about its first and last sample: c b | a b c
  kZero      // zeros
};

// The position of windows on the audio, and the processing of the audio as a whole. Samples are
// counted from the start of the audio.
struct FrameGeometry {
  float sample_frequency = 16000.0F;  // Hz
  int length = 400;                   // samples that a frame is computed from
  int shift = 160;                    // samples between the starts of two windows
  int64_t first_sample = 0;           // of frame 0's window; negative: before the audio
  // Audio of N > 0 samples has (N + count_offset) / shift frames, rounded down, at least 0.
  int64_t count_offset = -240;
  AudioEdge edge = AudioEdge::kMirror;
  // The audio becomes x[i] - c x[i-1], the first sample staying as it is, before anything else.
  float preemph_coeff = 0.0F;
  // Samples of at most this magnitude, before that, give finite features.
  float max_magnitude = 0.0F;

  double shift_ms() const { return 1000.0 * shift / static_cast<double>(sample_frequency); }
};

// Working memory of FrameExtractor::ComputeFrame, so that frames need no allocation. It holds no
// state between calls: a copy starts empty. One scratch serves any number of extractors, one call
// at a time.
class FrameScratch {
 public:
  FrameScratch() = default;
  ~FrameScratch() = default;
  FrameScratch(const FrameScratch& /*other*/) {}
  FrameScratch& operator=(const FrameScratch& /*other*/) { return *this; }
  FrameScratch(FrameScratch&&) = default;
  FrameScratch& operator=(FrameScratch&&) = default;

 private:
  friend class MelEnergies;
  friend class Mfcc;
  std::vector<float> window_;   // the windowed samples, padded to the FFT's size
  std::vector<float> work_;     // the FFT's output
  std::vector<float> power_;    // the power spectrum
  std::vector<float> columns_;  // of Fbank, for Mfcc
};

// Immutable after construction: any number of threads may share one, each with its own
// FrameScratch. The result depends only on the arguments, bit for bit.
class FrameExtractor {
 public:
  virtual ~FrameExtractor() = default;
  FrameExtractor(const FrameExtractor&) = delete;
  FrameExtractor& operator=(const FrameExtractor&) = delete;

  const FrameGeometry& geometry() const { return geometry_; }
  int dim() const { return dim_; }
  int frame_length() const { return geometry_.length; }  // samples
  int frame_shift() const { return geometry_.shift; }    // samples

  // Number of frames that `num_samples` >= 0 samples determine. `finished`: no more samples come,
  // which matters only when the last windows reach past the end of the audio.
  int64_t NumFrames(int64_t num_samples, bool finished) const;

  // The fewest samples that determine `num_frames` frames before the end of the audio.
  int64_t SamplesForFrames(int64_t num_frames) const;

  // Index of the first sample in the window of `frame`; negative before the start of the audio.
  int64_t FirstSampleOfFrame(int64_t frame) const;

  // Features of one frame. `samples`: its frame_length() samples, already scaled to the range that
  // the model expects. `frame`: its index in the stream, on which only dither depends.
  // `features`: dim() values are written. `samples` must not overlap with `features` or the
  // scratch.
  virtual void ComputeFrame(const float* samples, int64_t frame, FrameScratch* scratch,
                            float* features) const = 0;

  // The level of the sound in a frame, a natural logarithm: the mean of its dim() log energies,
  // unless the extractor computes something else.
  virtual float Level(const float* features) const;

 protected:
  FrameExtractor(const FrameGeometry& geometry, int dim) : geometry_(geometry), dim_(dim) {}

 private:
  // Samples that frame 0 needs when it is reflected about the first sample.
  int64_t ReflectedSamples() const;

  FrameGeometry geometry_;
  int dim_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_FRAME_EXTRACTOR_H_
