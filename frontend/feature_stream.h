// The features of one stream of samples: packets in, final frames out.
//
// Where it stands: the frontend's half of a stream's state. The runtime pushes samples into it and
// pops as many frames as the encoder's next chunk needs.

#ifndef RUNNEL_FRONTEND_FEATURE_STREAM_H_
#define RUNNEL_FRONTEND_FEATURE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "frontend/frame_extractor.h"

namespace runnel {

// A plain value: a copy continues independently from the same point, with identical results.
// The frames depend only on the samples, bit for bit, not on how they were cut into packets or when
// frames were popped. Frames are computed when popped; only samples that a frame yet to be popped
// needs are kept, so memory follows what the caller leaves unpopped. There is no limit on length.
//
// Thread rule: one thread at a time per stream; streams (and copies) are independent of each other.
class FeatureStream {
 public:
  // `sample_scale`: the factor from samples in [-1, 1] to the range the model was trained on; 32768
  // is that of 16-bit integers, which Kaldi's features use. Throws std::invalid_argument if
  // `extractor` is null or the scale is not finite and positive.
  explicit FeatureStream(std::shared_ptr<const FrameExtractor> extractor,
                         float sample_scale = 32768.0F);

  // Appends `count` samples, at the extractor's rate. Throws std::invalid_argument, leaving the
  // stream as it was, after Finish, for a null pointer with a count, and for a sample that is not a
  // number or so large that a power would overflow (some 10^10 times full scale); the message names
  // its index in the stream.
  void AcceptSamples(const float* samples, std::size_t count);

  // Throws as AcceptSamples does for samples that may still be amplified by `gain` before they come
  // here; the message counts them from `first_index`.
  void CheckSamples(const float* samples, std::size_t count, std::int64_t first_index,
                    float gain) const;

  // No more samples will come: the frames at the end become final. Calling it again changes
  // nothing.
  void Finish();

  // Frames that are final and not popped yet.
  std::int64_t NumFramesReady() const;

  // Writes the next frames, at most `max_frames`, to `features`, row by row (frames x dim()), and
  // returns their number: 0 if none is ready. `features` must have room for the frames written.
  std::size_t PopFrames(std::size_t max_frames, float* features);

  // Back to the beginning, with the same extractor and scale.
  void Reset();

  const FrameExtractor& extractor() const { return *extractor_; }
  int dim() const { return extractor_->dim(); }
  float sample_scale() const { return sample_scale_; }
  std::int64_t samples_accepted() const { return samples_accepted_; }
  std::int64_t frames_popped() const { return frames_popped_; }
  bool finished() const { return finished_; }

  // Samples held at the moment: what frames yet to be popped need.
  std::size_t samples_buffered() const { return buffer_.size() - buffer_head_; }

  // All that it remembers, for the snapshot of a stream (runtime/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Value(self.samples_accepted_);
    fields.Value(self.frames_popped_);
    fields.Value(self.finished_);
    fields.Value(self.last_sample_);
    const std::size_t count = fields.Count(self.samples_buffered(), sizeof(float));
    if constexpr (Fields::kReading) {
      self.buffer_.resize(count);
      self.buffer_head_ = 0;
    }
    fields.Bytes(self.buffer_.data() + self.buffer_head_, count * sizeof(float));
    if constexpr (Fields::kReading) fields.Check(self.Inconsistency());
  }

 private:
  // The window of `frame`: a pointer into the buffer, or, where it reaches past the audio's ends,
  // into edge_window_.
  const float* Window(std::int64_t frame);
  // What is wrong with a restored stream, or null.
  const char* Inconsistency() const;
  // Index in the stream of the first sample held.
  std::int64_t first_held() const {
    return samples_accepted_ - static_cast<std::int64_t>(samples_buffered());
  }
  // Of the first sample that frames yet to be popped read; where it is negative, all are read.
  std::int64_t FirstNeeded() const;
  void DropConsumedSamples();

  std::shared_ptr<const FrameExtractor> extractor_;
  float sample_scale_;

  std::int64_t samples_accepted_ = 0;
  std::int64_t frames_popped_ = 0;
  bool finished_ = false;
  float last_sample_ = 0.0F;  // the last one accepted, scaled
  // The last samples accepted, scaled and pre-emphasised as the geometry asks, from buffer_head_
  // on; what is before it is dead, and is erased when it makes up half of the buffer, so that
  // erasing costs O(1) per sample.
  std::vector<float> buffer_;
  std::size_t buffer_head_ = 0;

  std::vector<float> edge_window_;
  FrameScratch scratch_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURE_STREAM_H_
