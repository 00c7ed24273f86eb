// Places the samples of a recording at their times. Private to this project.
#ifndef RUNNEL_FRONTEND_MEDIA_RECORDING_CLOCK_H_
#define RUNNEL_FRONTEND_MEDIA_RECORDING_CLOCK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace runnel {

// Seconds of silence in all the gaps of a recording: more is that of a damaged or forged file. Two
// packets may say so. An input that cannot seek, such as a live stream, has a lower limit.
constexpr int64_t kMostSilenceS = 86400;
constexpr int64_t kMostLiveSilenceS = 3600;
// Samples: beyond any time, so that differences do not overflow.
constexpr int64_t kMostTime = int64_t{1} << 60;

// Compares the times of packets with the samples that were written. It follows the filter
// "aresample=async=1:first_pts=0" of FFmpeg, and the program ffmpeg where the times of MPEG-TS and
// Ogg begin anew. All times and counts are in samples.
class RecordingClock {
 public:
  // `earliest`: when the earliest of the other tracks begins; no value: there is none.
  // `may_begin_anew`: whether the container permits it of its times. `most_silence_s`: of all gaps.
  RecordingClock(int rate_hz, std::optional<int64_t> earliest, bool may_begin_anew,
                 int64_t most_silence_s);

  // How much silence belongs between the `num_samples` samples so far and the next ones, which
  // begin at `time`. Throws std::runtime_error when there is too much of it.
  int64_t SilenceBefore(int64_t time, int64_t num_samples);
  // How many of the next `count` samples are left out, because others have their times.
  size_t TakeOverlap(size_t count);
  // The next samples are those of another recording, which was joined to this one.
  void OnJoint() { is_at_joint_ = true; }

  bool has_times() const { return zero_.has_value(); }
  // Of the sample behind `num_samples` samples.
  int64_t TimeAfter(int64_t num_samples) const { return zero_.value_or(0) + num_samples; }
  // Where the times cannot be kept: each is the rest of a sentence whose subject is the recording.
  std::vector<std::string> Warnings() const;

 private:
  struct Places {
    int count = 0;
    int64_t first = 0;  // num_samples there
  };
  static void Add(int64_t num_samples, Places* places);
  std::string Describe(const Places& places) const;

  const int rate_hz_;
  std::optional<int64_t> earliest_;
  const bool may_begin_anew_;
  const int64_t most_silence_s_;
  std::optional<int64_t> zero_;  // the time of the first sample
  bool is_at_joint_ = false;
  int64_t num_silent_ = 0;
  int64_t overlap_ = 0;  // samples that are still to be left out
  int64_t num_left_out_ = 0;
  Places overlaps_;
  Places jumps_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_RECORDING_CLOCK_H_
