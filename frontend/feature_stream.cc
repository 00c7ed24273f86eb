#include "frontend/feature_stream.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "frontend/resampler.h"
#include "frontend/sample_range.h"

namespace runnel {
namespace {

// Below this, spare capacity of a buffer is not worth returning; floats.
constexpr size_t kSmallBuffer = 1 << 14;

// The index in [0, size) of what stands at `index` when the audio is mirrored at both ends, as
// often as needed. The images repeat: mirrored every 2 * size samples (-1 -> 0, size -> size - 1),
// reflected every 2 * size - 2 (-1 -> 1, size -> size - 2).
int64_t Image(AudioEdge edge, int64_t index, int64_t size) {
  if (size == 1) return 0;
  const int64_t doubled = edge == AudioEdge::kMirror ? 1 : 0;  // the first and last sample
  const int64_t period = 2 * (size - 1 + doubled);
  const int64_t image = ((index % period) + period) % period;
  return image < size ? image : period - doubled - image;
}

}  // namespace

FeatureStream::FeatureStream(std::shared_ptr<const FrameExtractor> extractor, float sample_scale)
    : extractor_(std::move(extractor)), sample_scale_(sample_scale) {
  if (extractor_ == nullptr) throw std::invalid_argument("FeatureStream: extractor is null");
  // The largest samples, amplified by the resampler, still give finite features.
  const float largest =
      extractor_->geometry().max_magnitude / (kMaxAmplitude * Resampler::kMaxGain);
  if (!(sample_scale > 0.0F && sample_scale <= largest)) {
    std::ostringstream message;
    message << "FeatureStream: sample_scale is " << sample_scale
            << ", expected a value above 0 and at most " << largest;
    throw std::invalid_argument(message.str());
  }
}

void FeatureStream::CheckSamples(const float* samples, size_t count, int64_t first_index) const {
  if (finished_) {
    throw std::invalid_argument("samples after Finish, expected none");
  }
  if (samples == nullptr && count > 0) {
    throw std::invalid_argument("FeatureStream: null pointer with " + std::to_string(count) +
                                " samples");
  }
  if (frames_accepted_ > 0 && count > 0) {
    throw std::invalid_argument("samples after frames; expected one of the two");
  }
  const size_t bad = FindBadSample(samples, count);
  if (bad == count) return;
  throw std::invalid_argument(
      BadSampleMessage(first_index + static_cast<int64_t>(bad), samples[bad]));
}

void FeatureStream::AcceptSamples(const float* samples, size_t count) {
  CheckSamples(samples, count, samples_accepted_);
  AppendSamples(samples, count);
}

void FeatureStream::AppendSamples(const float* samples, size_t count) {
  const size_t old_size = buffer_.size();
  buffer_.resize(old_size + count);
  float* const scaled = buffer_.data() + old_size;
  for (size_t i = 0; i < count; ++i) scaled[i] = samples[i] * sample_scale_;
  const float preemph = extractor_->geometry().preemph_coeff;
  if (preemph != 0.0F) {
    for (size_t i = 0; i < count; ++i) {
      const float sample = scaled[i];
      scaled[i] = sample - preemph * last_sample_;
      last_sample_ = sample;
    }
  }
  samples_accepted_ += static_cast<int64_t>(count);
}

void FeatureStream::AcceptFrames(const float* frames, size_t count) {
  if (finished_) {
    throw std::invalid_argument("frames after Finish, expected none");
  }
  if (samples_accepted_ > 0) {
    throw std::invalid_argument("frames after samples; expected one of the two");
  }
  const size_t num_values = count * static_cast<size_t>(dim());
  for (size_t i = 0; i < num_values; ++i) {
    if (std::isfinite(frames[i])) continue;
    const int64_t row = frames_accepted_ + static_cast<int64_t>(i) / dim();
    throw std::invalid_argument("frame " + std::to_string(row) + ", column " +
                                std::to_string(static_cast<int64_t>(i) % dim()) + " is " +
                                std::to_string(frames[i]) + ", expected a finite value");
  }
  frames_.insert(frames_.end(), frames, frames + num_values);
  frames_accepted_ += static_cast<int64_t>(count);
}

void FeatureStream::Finish() {
  finished_ = true;
  DropConsumedSamples();
}

int64_t FeatureStream::NumFramesReady() const {
  const int64_t num_frames =
      frames_accepted_ > 0 ? frames_accepted_ : extractor_->NumFrames(samples_accepted_, finished_);
  return num_frames - frames_popped_;
}

size_t FeatureStream::PeekFrames(size_t max_frames, float* features) {
  const size_t num_frames =
      static_cast<size_t>(std::min<uint64_t>(max_frames, static_cast<uint64_t>(NumFramesReady())));
  if (frames_accepted_ > 0) {
    std::copy_n(frames_.begin(), static_cast<std::ptrdiff_t>(num_frames) * dim(), features);
    return num_frames;
  }
  const int64_t end = frames_popped_ + static_cast<int64_t>(num_frames);
  for (int64_t frame = frames_popped_; frame < end; ++frame, features += dim()) {
    extractor_->ComputeFrame(Window(frame), frame, &scratch_, features);
  }
  return num_frames;
}

size_t FeatureStream::PopFrames(size_t max_frames, float* features) {
  const size_t num_frames = PeekFrames(max_frames, features);
  frames_popped_ += static_cast<int64_t>(num_frames);
  if (frames_accepted_ > 0) {
    frames_.erase(frames_.begin(),
                  frames_.begin() + static_cast<std::ptrdiff_t>(num_frames) * dim());
  } else if (num_frames > 0) {
    DropConsumedSamples();
  }
  return num_frames;
}

const float* FeatureStream::Window(int64_t frame) {
  const int64_t held = first_held();
  const float* const samples = buffer_.data() + buffer_head_;
  const int64_t first = extractor_->FirstSampleOfFrame(frame);
  const int64_t length = extractor_->frame_length();
  if (first >= 0 && first + length <= samples_accepted_) return samples + (first - held);

  edge_window_.resize(static_cast<size_t>(length));
  const AudioEdge edge = extractor_->geometry().edge;
  for (int64_t i = 0; i < length; ++i) {
    const int64_t index = first + i;
    const bool outside = index < 0 || index >= samples_accepted_;
    edge_window_[static_cast<size_t>(i)] =
        outside && edge == AudioEdge::kZero ? 0.0F
                                            : samples[Image(edge, index, samples_accepted_) - held];
  }
  return edge_window_.data();
}

std::string FeatureStream::Inconsistency() const {
  if (NumFramesReady() < 0) {
    return "number of feature frames taken is " + std::to_string(frames_popped_) +
           ", which do not follow from " + std::to_string(samples_accepted_) + " samples";
  }
  if ((frames_accepted_ > 0 && samples_accepted_ > 0) ||
      frames_.size() != (frames_accepted_ == 0 ? 0
                                               : static_cast<size_t>(NumFramesReady()) *
                                                     static_cast<size_t>(dim()))) {
    return "the features hold " + std::to_string(frames_.size()) + " values of " +
           std::to_string(frames_accepted_) + " frames";
  }
  if (frames_accepted_ > 0) return "";
  if (first_held() < 0) {
    return "the features keep " + std::to_string(samples_buffered()) +
           " samples; expected at most " + std::to_string(samples_accepted_);
  }
  const bool all_read = finished_ && NumFramesReady() == 0;
  if (!all_read && first_held() > std::max<int64_t>(0, FirstNeeded())) {
    return "the features keep " + std::to_string(samples_buffered()) +
           " samples, fewer than the next frame reads";
  }
  const auto is_finite = [](float sample) { return std::isfinite(sample); };
  if (!is_finite(last_sample_) || !std::all_of(buffer_.begin(), buffer_.end(), is_finite)) {
    return "samples that the features keep are not finite";
  }
  return "";
}

// One sample more than the next window: where a window of odd length is mirrored about its middle
// at the end of the audio, or one of even length reflected about its middle sample, its last sample
// is the image of the one before its first.
int64_t FeatureStream::FirstNeeded() const {
  return extractor_->FirstSampleOfFrame(frames_popped_) - 1;
}

void FeatureStream::DropConsumedSamples() {
  const int64_t held = first_held();
  const int64_t needed = FirstNeeded();
  if (finished_ && NumFramesReady() == 0) {
    buffer_head_ = buffer_.size();
  } else if (needed > held) {
    buffer_head_ +=
        static_cast<size_t>(std::min(needed - held, static_cast<int64_t>(samples_buffered())));
  }

  if (buffer_head_ < buffer_.size() - buffer_head_) return;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(buffer_head_));
  buffer_head_ = 0;
  if (buffer_.capacity() > kSmallBuffer && buffer_.capacity() / 4 > buffer_.size()) {
    buffer_.shrink_to_fit();
  }
}

}  // namespace runnel
