#include "runtime/model/feature_config.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "encoder/json/json_section.h"
#include "frontend/features/fbank.h"
#include "frontend/features/mel_spectrogram.h"
#include "frontend/features/mfcc.h"

namespace runnel {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int>::max();

float Float(JsonSection* section, const std::string& field) {
  const double value = section->Number(field);
  if (std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
    section->Fail(field, "a number that fits into 32 bits");
  }
  return static_cast<float>(value);
}

// A number of samples, bins or points; Validate knows its range.
int Int(JsonSection* section, const std::string& field) {
  return static_cast<int>(section->Integer(field, 1, kMaxInt));
}

FbankOptions ParseFbank(JsonSection* section) {
  FbankOptions fbank;
  fbank.frame_length_ms = Float(section, "frame_length_ms");
  fbank.frame_shift_ms = Float(section, "frame_shift_ms");
  fbank.num_mel_bins = Int(section, "num_mel_bins");
  fbank.low_freq = Float(section, "low_freq");
  fbank.high_freq = Float(section, "high_freq");
  fbank.window_type = section->String("window_type");
  fbank.blackman_coeff = Float(section, "blackman_coeff");
  fbank.preemph_coeff = Float(section, "preemph_coeff");
  fbank.remove_dc_offset = section->Bool("remove_dc_offset");
  fbank.dither = Float(section, "dither");
  fbank.dither_seed = static_cast<uint64_t>(
      section->Integer("dither_seed", 0, std::numeric_limits<int64_t>::max()));
  fbank.snip_edges = section->Bool("snip_edges");
  fbank.round_to_power_of_two = section->Bool("round_to_power_of_two");
  fbank.use_energy = section->Bool("use_energy");
  fbank.raw_energy = section->Bool("raw_energy");
  fbank.energy_floor = Float(section, "energy_floor");
  fbank.use_log_fbank = section->Bool("use_log_fbank");
  fbank.use_power = section->Bool("use_power");
  fbank.htk_compat = section->Bool("htk_compat");
  return fbank;
}

MfccOptions ParseMfcc(JsonSection* section) {
  MfccOptions mfcc;
  static_cast<FbankOptions&>(mfcc) = ParseFbank(section);
  mfcc.num_ceps = Int(section, "num_ceps");
  mfcc.cepstral_lifter = Float(section, "cepstral_lifter");
  return mfcc;
}

MelSpectrogramOptions ParseMelSpectrogram(JsonSection* section) {
  MelSpectrogramOptions mel;
  mel.preemph_coeff = Float(section, "preemph_coeff");
  mel.fft_size = Int(section, "fft_size");
  mel.frame_length = Int(section, "frame_length");
  mel.frame_shift = Int(section, "frame_shift");
  mel.edge = section->Choice<AudioEdge>(
      "padding", {{"zero", AudioEdge::kZero}, {"reflect", AudioEdge::kReflect}});
  mel.last_frame = section->Bool("last_frame");
  mel.window_type = section->String("window_type");
  mel.periodic_window = section->Bool("periodic_window");
  mel.num_mel_bins = Int(section, "num_mel_bins");
  mel.low_freq = Float(section, "low_freq");
  mel.high_freq = Float(section, "high_freq");
  mel.mel_scale = section->Choice<MelScale>(
      "mel_scale", {{"slaney", MelScale::kSlaney}, {"htk", MelScale::kHtk}});
  mel.slaney_norm = section->Bool("slaney_norm");
  mel.use_power = section->Bool("use_power");
  mel.log_guard = section->Choice<LogGuard>("log_guard",
                                            {{"add", LogGuard::kAdd}, {"floor", LogGuard::kFloor}});
  mel.log_guard_value = Float(section, "log_guard_value");
  return mel;
}

enum class Type { kFbank, kMfcc, kMelSpectrogram };

}  // namespace

int FeatureConfig::dim() const {
  if (const auto* const mel = std::get_if<MelSpectrogramOptions>(&options)) {
    return mel->num_mel_bins;
  }
  if (const auto* const mfcc = std::get_if<MfccOptions>(&options)) return mfcc->num_ceps;
  return std::get<FbankOptions>(options).FeatureDim();
}

std::shared_ptr<const FrameExtractor> MakeFrameExtractor(const FeatureConfig& config) {
  if (const auto* const mel = std::get_if<MelSpectrogramOptions>(&config.options)) {
    return std::make_shared<const MelSpectrogram>(*mel);
  }
  if (const auto* const mfcc = std::get_if<MfccOptions>(&config.options)) {
    return std::make_shared<const Mfcc>(*mfcc);
  }
  return std::make_shared<const Fbank>(std::get<FbankOptions>(config.options));
}

FeatureConfig ParseFeatureConfig(JsonSection section, const std::string& source) {
  FeatureConfig config;
  const Type type = section.Choice<Type>(
      "type",
      {{"fbank", Type::kFbank}, {"mfcc", Type::kMfcc}, {"mel_spectrogram", Type::kMelSpectrogram}});
  const auto rate = static_cast<float>(section.Integer("sample_frequency", 1000, 384000));
  config.sample_scale = Float(&section, "sample_scale");
  if (!(config.sample_scale > 0)) section.Fail("sample_scale", "a number above 0");
  if (type == Type::kFbank) {
    config.options = ParseFbank(&section);
  } else if (type == Type::kMfcc) {
    config.options = ParseMfcc(&section);
  } else {
    config.options = ParseMelSpectrogram(&section);
  }
  section.CheckAllTaken();
  try {
    std::visit(
        [rate](auto& options) {
          options.sample_frequency = rate;
          options.Validate();
        },
        config.options);
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(source + ": features: " + error.what());
  }
  return config;
}

}  // namespace runnel
