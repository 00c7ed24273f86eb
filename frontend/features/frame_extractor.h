// From the samples of one window to one frame of features: what all kinds of features share.
//
// Where it stands: a FrameExtractor is the immutable, shared half of feature extraction (tables, no
// state); FeatureStream (feature_stream.h) is the other half: it cuts a stream of samples into
// windows and hands them to an extractor. Fbank (fbank.h) and MelSpectrogram (mel_spectrogram.h)
// are the extractors.

#ifndef RUNNEL_FRONTEND_FRAME_EXTRACTOR_H_
#define RUNNEL_FRONTEND_FRAME_EXTRACTOR_H_

#include <cstdint>
#include <vector>

namespace runnel {

// What a window finds before the first and after the last sample of the audio.
enum class AudioEdge {
  kMirror,   // the audio mirrored, its first and last sample twice: c b a | a b c
  kReflect,  // mirrored about its first and last sample: c b | a b c
  kZero      // zeros
};

// How windows lie on the audio, and what is done to the audio as a whole. Samples are counted from
// the start of the audio.
struct FrameGeometry {
  float sample_frequency = 16000.0F;  // Hz
  int length = 400;                   // samples that a frame is computed from
  int shift = 160;                    // samples between the starts of two windows
  std::int64_t first_sample = 0;      // of frame 0's window; negative: before the audio
  // Audio of N > 0 samples has (N + count_offset) / shift frames, rounded down, at least 0.
  std::int64_t count_offset = -240;
  AudioEdge edge = AudioEdge::kMirror;
  // The audio becomes x[i] - c x[i-1], the first sample staying as it is, before anything else.
  float preemph_coeff = 0.0F;
  // Samples of at most this magnitude, before that, give finite features.
  float max_magnitude = 0.0F;
};

// Working memory of FrameExtractor::ComputeFrame, so that frames need no allocation. It carries
// nothing from one call to the next: a copy starts empty, and whoever owns one may drop it at any
// time. One scratch serves any number of extractors, one call at a time.
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
  std::vector<float> window_;  // the windowed samples, padded to the FFT's size
  std::vector<float> work_;    // the FFT's output
  std::vector<float> power_;   // the power spectrum
};

// Thread rule: const after construction; any number of threads may share one, each with its own
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

  // Number of frames that `num_samples` >= 0 samples determine. `finished`: no more samples will
  // come; it matters only where the last windows reach past the end of the audio.
  std::int64_t NumFrames(std::int64_t num_samples, bool finished) const;

  // The fewest samples that determine `num_frames` frames while more may come.
  std::int64_t SamplesForFrames(std::int64_t num_frames) const;

  // Index of the first sample in the window of `frame`; negative before the start of the audio.
  std::int64_t FirstSampleOfFrame(std::int64_t frame) const;

  // Features of one frame. `samples`: its frame_length() samples, already scaled to the range that
  // the model expects. `frame`: its index in the stream, on which only dither depends.
  // `features`: dim() values are written. `samples` must not overlap with `features` or the
  // scratch.
  virtual void ComputeFrame(const float* samples, std::int64_t frame, FrameScratch* scratch,
                            float* features) const = 0;

 protected:
  FrameExtractor(const FrameGeometry& geometry, int dim) : geometry_(geometry), dim_(dim) {}

 private:
  // What frame 0 needs where it is reflected about the first sample.
  std::int64_t ReflectedSamples() const;

  FrameGeometry geometry_;
  int dim_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FRAME_EXTRACTOR_H_
