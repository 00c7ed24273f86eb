#include "frontend/features/fbank_options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace runnel {
namespace {

using testing::Message;

TEST(FbankOptionsTest, DefaultsAreKaldisWithoutDither) {
  const FbankOptions options;
  options.Validate();
  EXPECT_EQ(options.FrameLengthSamples(), 400);
  EXPECT_EQ(options.FrameShiftSamples(), 160);
  EXPECT_EQ(options.FftSize(), 512);
  EXPECT_EQ(options.HighFreqHz(), 8000.0F);
  EXPECT_EQ(options.FeatureDim(), 23);
  EXPECT_EQ(options.dither, 0.0F);
}

TEST(FbankOptionsTest, SizesRoundAsKaldiDoes) {
  FbankOptions options;
  options.sample_frequency = 44100.0F;
  EXPECT_EQ(options.FrameLengthSamples(), 1102);  // 1102.5
  EXPECT_EQ(options.FrameShiftSamples(), 441);
  EXPECT_EQ(options.FftSize(), 2048);
  options.round_to_power_of_two = false;
  EXPECT_EQ(options.FftSize(), 1102);
  options.sample_frequency = 16000.0F;
  options.frame_length_ms = 32.0F;
  options.round_to_power_of_two = true;
  EXPECT_EQ(options.FftSize(), 512);
  options.use_energy = true;
  EXPECT_EQ(options.FeatureDim(), 24);
  options.high_freq = -400.0F;
  EXPECT_EQ(options.HighFreqHz(), 7600.0F);
}

// What is wrong with `options`; "" if nothing.
std::string Complaint(const FbankOptions& options) {
  try {
    options.Validate();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

struct Mistake {
  std::string field;
  std::string value;  // as the message shows it
  std::function<void(FbankOptions*)> make;
};

TEST(FbankOptionsTest, MessageNamesFieldValueAndRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<Mistake> mistakes = {
      {"sample_frequency", "0", [](FbankOptions* o) { o->sample_frequency = 0.0F; }},
      {"sample_frequency", "-8000", [](FbankOptions* o) { o->sample_frequency = -8000.0F; }},
      {"sample_frequency", "nan", [=](FbankOptions* o) { o->sample_frequency = nan; }},
      {"sample_frequency", "inf", [=](FbankOptions* o) { o->sample_frequency = infinity; }},
      {"frame_length_ms", "0", [](FbankOptions* o) { o->frame_length_ms = 0.0F; }},
      {"frame_length_ms", "0.1", [](FbankOptions* o) { o->frame_length_ms = 0.1F; }},
      {"frame_length_ms", "-25", [](FbankOptions* o) { o->frame_length_ms = -25.0F; }},
      {"frame_length_ms", "nan", [=](FbankOptions* o) { o->frame_length_ms = nan; }},
      {"frame_length_ms", "1e+30", [](FbankOptions* o) { o->frame_length_ms = 1e30F; }},
      {"frame_shift_ms", "0", [](FbankOptions* o) { o->frame_shift_ms = 0.0F; }},
      {"frame_shift_ms", "0.06", [](FbankOptions* o) { o->frame_shift_ms = 0.06F; }},
      {"frame_shift_ms", "inf", [=](FbankOptions* o) { o->frame_shift_ms = infinity; }},
      {"dither", "-1", [](FbankOptions* o) { o->dither = -1.0F; }},
      {"sample_frequency", "999", [](FbankOptions* o) { o->sample_frequency = 999.0F; }},
      {"sample_frequency", "1e+38", [](FbankOptions* o) { o->sample_frequency = 1e38F; }},
      {"dither", "1e+38", [](FbankOptions* o) { o->dither = 1e38F; }},
      {"dither", "inf", [=](FbankOptions* o) { o->dither = infinity; }},
      {"preemph_coeff", "1.5", [](FbankOptions* o) { o->preemph_coeff = 1.5F; }},
      {"preemph_coeff", "-0.1", [](FbankOptions* o) { o->preemph_coeff = -0.1F; }},
      {"preemph_coeff", "nan", [=](FbankOptions* o) { o->preemph_coeff = nan; }},
      {"blackman_coeff", "2", [](FbankOptions* o) { o->blackman_coeff = 2.0F; }},
      {"energy_floor", "-1", [](FbankOptions* o) { o->energy_floor = -1.0F; }},
      {"energy_floor", "nan", [=](FbankOptions* o) { o->energy_floor = nan; }},
      {"window_type", "\"kaiser\"", [](FbankOptions* o) { o->window_type = "kaiser"; }},
      {"window_type", "\"\"", [](FbankOptions* o) { o->window_type = ""; }},
      {"num_mel_bins", "2", [](FbankOptions* o) { o->num_mel_bins = 2; }},
      {"num_mel_bins", "-80", [](FbankOptions* o) { o->num_mel_bins = -80; }},
      {"num_mel_bins", "4097",
       [](FbankOptions* o) {
         o->frame_length_ms = 60000.0F;
         o->num_mel_bins = 4097;
       }},
      {"num_mel_bins", "2000000000", [](FbankOptions* o) { o->num_mel_bins = 2000000000; }},
      {"num_mel_bins", "200", [](FbankOptions* o) { o->num_mel_bins = 200; }},
      {"low_freq", "-1", [](FbankOptions* o) { o->low_freq = -1.0F; }},
      {"low_freq", "8000", [](FbankOptions* o) { o->low_freq = 8000.0F; }},
      {"low_freq", "nan", [=](FbankOptions* o) { o->low_freq = nan; }},
      {"high_freq", "8001", [](FbankOptions* o) { o->high_freq = 8001.0F; }},
      {"high_freq", "20", [](FbankOptions* o) { o->high_freq = 20.0F; }},
      {"high_freq", "-8000", [](FbankOptions* o) { o->high_freq = -8000.0F; }},
      {"high_freq", "nan", [=](FbankOptions* o) { o->high_freq = nan; }},
      // 16 kHz * 25.0625 ms = 401 samples, an odd FFT size.
      {"frame_length_ms", "25.0625",
       [](FbankOptions* o) {
         o->round_to_power_of_two = false;
         o->frame_length_ms = 25.0625F;
       }},
  };
  for (const Mistake& mistake : mistakes) {
    FbankOptions options;
    mistake.make(&options);
    const std::string start =
        "FbankOptions." + mistake.field + " is " + mistake.value + ", expected ";
    const std::string complaint = Complaint(options);
    EXPECT_EQ(complaint.substr(0, start.size()), start);
    EXPECT_GT(complaint.size(), start.size());
    EXPECT_EQ(complaint.find('\n'), std::string::npos);
  }
}

TEST(FbankOptionsTest, EdgesOfTheRangesAreAllowed) {
  FbankOptions options;
  options.low_freq = 0.0F;
  options.high_freq = 8000.0F;
  options.preemph_coeff = 1.0F;
  options.num_mel_bins = 3;
  options.frame_shift_ms = 0.0625F;  // one sample
  EXPECT_EQ(Complaint(options), "");
}

TEST(FbankOptionsTest, MostMelBinsDependOnTheFft) {
  FbankOptions options;
  options.num_mel_bins = 80;
  EXPECT_EQ(Complaint(options), "");
  options.num_mel_bins = 128;
  EXPECT_NE(Complaint(options).find("512-point FFT"), std::string::npos) << Complaint(options);
  options.frame_length_ms = 50.0F;
  EXPECT_EQ(Complaint(options), "");
}

}  // namespace
}  // namespace runnel
