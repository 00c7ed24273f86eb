// Log mel filterbank features of one frame at a time, as Kaldi computes them.
//
// Where it stands: an Fbank is the immutable, shared half of feature extraction (tables, no state);
// FeatureStream (feature_stream.h) is the other half: it cuts a stream of samples into windows and
// hands them to an Fbank.

#ifndef RUNNEL_FRONTEND_FBANK_H_
#define RUNNEL_FRONTEND_FBANK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "frontend/fbank_options.h"

namespace runnel {

class MelFilters;
class PowerSpectrum;

// Working memory of Fbank::ComputeFrame, so that frames need no allocation. It carries nothing from
// one call to the next: a copy starts empty, and whoever owns one may drop it at any time.
// One scratch serves any number of Fbanks, one call at a time.
class FbankScratch {
 public:
  FbankScratch() = default;
  ~FbankScratch() = default;
  FbankScratch(const FbankScratch& /*other*/) {}
  FbankScratch& operator=(const FbankScratch& /*other*/) { return *this; }
  FbankScratch(FbankScratch&&) = default;
  FbankScratch& operator=(FbankScratch&&) = default;

 private:
  friend class Fbank;
  std::vector<float> window_;  // the windowed samples, padded to the FFT's size
  std::vector<float> work_;    // the FFT's output
  std::vector<float> power_;   // the power spectrum
};

// Thread rule: const after construction; any number of threads may share one, each with its own
// FbankScratch. The result depends only on the arguments, bit for bit.
//
// Source: Kaldi, src/feat (feature-window, feature-fbank, mel-computations).
class Fbank {
 public:
  // Throws std::invalid_argument as FbankOptions::Validate does.
  explicit Fbank(const FbankOptions& options);
  ~Fbank();
  Fbank(const Fbank&) = delete;
  Fbank& operator=(const Fbank&) = delete;

  const FbankOptions& options() const { return options_; }
  int dim() const { return options_.FeatureDim(); }
  int frame_length() const { return frame_length_; }  // samples
  int frame_shift() const { return frame_shift_; }    // samples

  // Number of frames that `num_samples` >= 0 samples determine. `finished`: no more samples will
  // come; it matters only without snip_edges, where the last windows reach past the end of the
  // audio.
  std::int64_t NumFrames(std::int64_t num_samples, bool finished) const;

  // Index of the first sample in the window of `frame`; negative for the first frames without
  // snip_edges, whose windows begin before the audio.
  std::int64_t FirstSampleOfFrame(std::int64_t frame) const;

  // Features of one frame. `samples`: its frame_length() samples, already scaled to the range that
  // the model expects. `frame`: its index in the stream, on which only the dither depends.
  // `features`: dim() values are written. `samples` must not overlap with `features` or the
  // scratch.
  void ComputeFrame(const float* samples, std::int64_t frame, FbankScratch* scratch,
                    float* features) const;

 private:
  // Dither, mean removal, pre-emphasis and window function, into scratch->window_. Returns the log
  // energy of the window if use_energy is set, otherwise 0.
  float PrepareWindow(const float* samples, std::int64_t frame, FbankScratch* scratch) const;

  FbankOptions options_;
  int frame_length_;
  int frame_shift_;
  std::vector<float> window_;
  std::unique_ptr<const PowerSpectrum> power_spectrum_;
  std::unique_ptr<const MelFilters> mel_filters_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FBANK_H_
