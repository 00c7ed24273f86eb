// Turns the samples of one stream into feature frames, packet by packet.
//
// The frontend turns audio into features: AudioReader and AudioSource read files and pipes,
// Resampler changes the sample rate, and FeatureStream cuts windows for the extractor of
// frontend/features.
#ifndef RUNNEL_FRONTEND_FEATURE_STREAM_H_
#define RUNNEL_FRONTEND_FEATURE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frontend/features/frame_extractor.h"

namespace runnel {

// A value: a copy continues independently from the same point, with identical results. The frames
// depend only on the samples, bit for bit, not on packet sizes or on when frames are popped. Frames
// are computed when popped. Only samples that a frame yet to be popped needs are kept, so memory
// does not grow with the stream. One thread at a time per stream.
class FeatureStream {
 public:
  // `sample_scale`: factor from samples in [-1, 1] to the range that the model was trained on;
  // 32768 for 16-bit integers, which Kaldi's features use. Throws std::invalid_argument if
  // `extractor` is null, or the scale is not positive or so large that powers overflow.
  explicit FeatureStream(std::shared_ptr<const FrameExtractor> extractor,
                         float sample_scale = 32768.0F);

  // Appends `count` samples at the extractor's rate. Throws std::invalid_argument, and changes
  // nothing, after Finish, for a null pointer with a count, and for a sample that is NaN or beyond
  // kMaxAmplitude (frontend/sample_range.h). The message names its index in the stream.
  void AcceptSamples(const float* samples, size_t count);

  // Appends `count` frames that were computed elsewhere, (count, dim()) row-major, in place of
  // samples. Throws std::invalid_argument, and changes nothing, after Finish or samples, and for a
  // value that is not finite; the message names its row and column.
  void AcceptFrames(const float* frames, size_t count);

  // AcceptSamples in two steps, for samples that are resampled between them. CheckSamples throws as
  // AcceptSamples does and counts the samples from `first_index`. AppendSamples checks nothing.
  void CheckSamples(const float* samples, size_t count, int64_t first_index) const;
  void AppendSamples(const float* samples, size_t count);

  // Ends the samples: the last frames become final. Further calls change nothing.
  void Finish();

  // Frames that are final and not popped yet.
  int64_t NumFramesReady() const;

  // Writes the next frames, at most `max_frames`, to `features`, (frames, dim()) row-major, and
  // returns their number: 0 if none is ready. `features` must have room for the frames written.
  size_t PopFrames(size_t max_frames, float* features);
  // The same without popping them. Popped later, they have the same bits.
  size_t PeekFrames(size_t max_frames, float* features);

  const FrameExtractor& extractor() const { return *extractor_; }
  int dim() const { return extractor_->dim(); }
  float sample_scale() const { return sample_scale_; }
  int64_t samples_accepted() const { return samples_accepted_; }
  int64_t frames_accepted() const { return frames_accepted_; }
  int64_t frames_popped() const { return frames_popped_; }
  bool finished() const { return finished_; }

  // Samples kept for frames yet to be popped.
  size_t samples_buffered() const { return buffer_.size() - buffer_head_; }

  // The state, for the snapshot of a stream (runtime/snapshot/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Counter(self.samples_accepted_);
    fields.Counter(self.frames_popped_);
    fields.Value(self.finished_);
    fields.Value(self.last_sample_);
    fields.Counter(self.frames_accepted_);
    fields.Values(self.frames_);
    const size_t count = fields.Count(self.samples_buffered(), sizeof(float));
    if constexpr (Fields::kReading) {
      self.buffer_.resize(count);
      self.buffer_head_ = 0;
    }
    fields.Bytes(self.buffer_.data() + self.buffer_head_, count * sizeof(float));
    if constexpr (Fields::kReading) fields.Check(self.Inconsistency());
  }

 private:
  // The window of `frame`: a pointer into the buffer, or into edge_window_ when the window reaches
  // past an end of the audio.
  const float* Window(int64_t frame);
  // What is wrong with a restored stream; "" if nothing is.
  std::string Inconsistency() const;
  // Index in the stream of the first sample kept.
  int64_t first_held() const {
    return samples_accepted_ - static_cast<int64_t>(samples_buffered());
  }
  // Index of the first sample that frames yet to be popped read; negative: all samples.
  int64_t FirstNeeded() const;
  void DropConsumedSamples();

  std::shared_ptr<const FrameExtractor> extractor_;
  float sample_scale_;

  int64_t samples_accepted_ = 0;
  int64_t frames_popped_ = 0;
  bool finished_ = false;
  float last_sample_ = 0.0F;  // the last one accepted, scaled
  // The last samples accepted, scaled and pre-emphasised as the geometry asks, from buffer_head_
  // on. Those before it are erased once they make up half of the buffer: O(1) per sample.
  std::vector<float> buffer_;
  size_t buffer_head_ = 0;

  // Frames that were accepted and not popped yet, of a stream without samples.
  int64_t frames_accepted_ = 0;
  std::vector<float> frames_;

  std::vector<float> edge_window_;
  FrameScratch scratch_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURE_STREAM_H_
