// What MelSpectrogramOptions refuses, and the geometry that the options make.

#include "frontend/features/mel_spectrogram_options.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/features/mel_spectrogram.h"

namespace runnel {
namespace {

// What is wrong with `options`; "" if nothing.
std::string Complaint(const MelSpectrogramOptions& options) {
  try {
    const MelSpectrogram extractor(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

struct Mistake {
  std::string complaint;  // "field is value"
  std::function<void(MelSpectrogramOptions*)> make;
};

TEST(MelSpectrogramOptionsTest, MessageNamesFieldValueAndRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  using Options = MelSpectrogramOptions;
  const std::vector<Mistake> mistakes = {
      {"sample_frequency is 0", [](Options* o) { o->sample_frequency = 0.0F; }},
      {"sample_frequency is nan", [=](Options* o) { o->sample_frequency = nan; }},
      {"preemph_coeff is 1.1", [](Options* o) { o->preemph_coeff = 1.1F; }},
      {"preemph_coeff is nan", [=](Options* o) { o->preemph_coeff = nan; }},
      {"fft_size is 0", [](Options* o) { o->fft_size = 0; }},
      {"fft_size is 511", [](Options* o) { o->fft_size = 511; }},
      {"fft_size is 2097152", [](Options* o) { o->fft_size = 1 << 21; }},
      {"frame_length is 1", [](Options* o) { o->frame_length = 1; }},
      {"frame_length is 513", [](Options* o) { o->frame_length = 513; }},
      {"frame_shift is 0", [](Options* o) { o->frame_shift = 0; }},
      {"edge is kMirror", [](Options* o) { o->edge = AudioEdge::kMirror; }},
      {"window_type is \"hann\"", [](Options* o) { o->window_type = "hann"; }},
      {"num_mel_bins is 0", [](Options* o) { o->num_mel_bins = 0; }},
      {"num_mel_bins is 4097", [](Options* o) { o->num_mel_bins = 4097; }},
      {"high_freq is 8001", [](Options* o) { o->high_freq = 8001.0F; }},
      {"high_freq is 0", [](Options* o) { o->high_freq = 0.0F; }},
      {"low_freq is -1", [](Options* o) { o->low_freq = -1.0F; }},
      {"low_freq is 8000", [](Options* o) { o->low_freq = 8000.0F; }},
      {"log_guard_value is 0", [](Options* o) { o->log_guard_value = 0.0F; }},
      {"log_guard_value is nan", [=](Options* o) { o->log_guard_value = nan; }},
  };
  EXPECT_EQ(Complaint({}), "");
  for (const Mistake& mistake : mistakes) {
    MelSpectrogramOptions options;
    mistake.make(&options);
    const std::string complaint = Complaint(options);
    EXPECT_EQ(complaint.rfind("MelSpectrogramOptions." + mistake.complaint + ", expected ", 0), 0U)
        << complaint;
    EXPECT_EQ(complaint.find('\n'), std::string::npos);
  }
}

TEST(MelSpectrogramTest, FramesAreThoseOfNemoAndEspnet) {
  MelSpectrogramOptions options;
  const MelSpectrogram nemo(options);
  EXPECT_EQ(nemo.dim(), 80);
  EXPECT_EQ(nemo.FirstSampleOfFrame(0), -200);
  EXPECT_EQ(nemo.FirstSampleOfFrame(3), 280);
  EXPECT_EQ(nemo.NumFrames(0, true), 0);
  EXPECT_EQ(nemo.NumFrames(159, true), 0);
  EXPECT_EQ(nemo.NumFrames(160, true), 1);
  EXPECT_EQ(nemo.NumFrames(16000, true), 100);
  // Frame 0 ends with sample 199.
  EXPECT_EQ(nemo.NumFrames(199, false), 0);
  EXPECT_EQ(nemo.NumFrames(200, false), 1);
  EXPECT_EQ(nemo.NumFrames(360, false), 2);

  options.frame_length = 512;
  options.frame_shift = 128;
  options.edge = AudioEdge::kReflect;
  options.last_frame = true;
  const MelSpectrogram espnet(options);
  EXPECT_EQ(espnet.FirstSampleOfFrame(0), -256);
  EXPECT_EQ(espnet.NumFrames(0, true), 0);
  EXPECT_EQ(espnet.NumFrames(1, true), 1);
  EXPECT_EQ(espnet.NumFrames(127, true), 1);
  EXPECT_EQ(espnet.NumFrames(128, true), 2);
  // Its left half is sample 256 down to sample 1.
  EXPECT_EQ(espnet.NumFrames(256, false), 0);
  EXPECT_EQ(espnet.NumFrames(257, false), 1);
}

}  // namespace
}  // namespace runnel
