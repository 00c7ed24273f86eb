// dump_features: writes the features of a recording to a NumPy file.
#include <gflags/gflags.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/features/fbank.h"
#include "frontend/features/fbank_options.h"
#include "frontend/features/frame_extractor.h"
#include "runtime/model.h"
#include "runtime/model/model_parts.h"
#include "tools/cli/audio_flags.h"
#include "tools/cli/command_line.h"
#include "tools/cli/feature_source.h"
#include "tools/cli/npy.h"
#include "tools/cli/output_check.h"
#include "tools/cli/tool_main.h"

DEFINE_string(wav, "", "Audio file; -: standard input.");
DEFINE_string(output, "", "NumPy file to write: float32, (frames, dim).");
DEFINE_string(model, "", "Model file whose feature options replace the flags below.");
DEFINE_string(units, "", "units.txt of a model file that holds none (WeNet's final.zip).");
DEFINE_double(sample_scale, 32768, "Factor from samples in [-1, 1] to the range of the features.");

// Names and defaults are those of Kaldi, except for those in kUsage.
DEFINE_int32(sample_frequency, 16000, "Rate to which the audio is resampled, Hz.");
DEFINE_double(frame_length_ms, 25, "Length of a window, milliseconds.");
DEFINE_double(frame_shift_ms, 10, "Distance between the starts of two windows, milliseconds.");
DEFINE_bool(snip_edges, true, "Only windows that lie wholly inside the audio.");
DEFINE_double(dither, 0,
              "Standard deviation of the noise added to each window; Kaldi's default is 1.");
DEFINE_uint64(dither_seed, 0, "Seed of the dither.");
DEFINE_bool(remove_dc_offset, true, "Subtract the mean of each window.");
DEFINE_double(preemph_coeff, 0.97, "Pre-emphasis within each window; 0: none.");
DEFINE_string(window_type, "povey", "povey, hanning, hamming, rectangular or blackman.");
DEFINE_double(blackman_coeff, 0.42, "Shape of the blackman window.");
DEFINE_bool(round_to_power_of_two, true, "Pad windows with zeros to a power of two.");
DEFINE_int32(num_mel_bins, 23, "Number of mel filters.");
DEFINE_double(low_freq, 20, "Lower edge of the first filter, Hz.");
DEFINE_double(high_freq, 0,
              "Upper edge of the last filter, Hz; at most 0: below the Nyquist frequency.");
DEFINE_bool(use_power, true, "Power spectrum instead of magnitude spectrum.");
DEFINE_bool(use_log_fbank, true, "Logarithm of each filter's output.");
DEFINE_bool(use_energy, false, "Add the log energy as a column.");
DEFINE_bool(raw_energy, true, "Energy before pre-emphasis and window.");
DEFINE_double(energy_floor, 0, "Lower bound of the energy; 0: none.");
DEFINE_bool(htk_compat, false, "Energy as the last column instead of the first.");

namespace runnel {
namespace {

constexpr char kUsage[] =
    R"(dump_features writes the features of a recording, as a model takes them or as Kaldi's filter bank.

  dump_features FILE --output=x.npy (--model=M.pt | [Kaldi's fbank options])

The options have the names and defaults of Kaldi's compute-fbank-feats, with underscores instead of
hyphens. Exceptions: frame-length, frame-shift and preemphasis-coefficient are --frame_length_ms,
--frame_shift_ms and --preemph_coeff, and --dither is 0 by default.

Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  dump_features a.wav --model=models/digits/digits.pt --output=x.npy
  dump_features a.flac --num_mel_bins=80 --snip_edges=false --output=x.npy
  sox a.mp3 -t wav - | dump_features - --num_mel_bins=40 --output=x.npy
  python3 -c 'import numpy; x = numpy.load("x.npy"); print(x.shape, x.mean(axis=0))'
)";

constexpr int64_t kFramesPerBlock = 256;

constexpr std::array kFeatureFlags = {
    "sample_scale",   "sample_frequency",      "frame_length_ms",  "frame_shift_ms", "snip_edges",
    "dither",         "dither_seed",           "remove_dc_offset", "preemph_coeff",  "window_type",
    "blackman_coeff", "round_to_power_of_two", "num_mel_bins",     "low_freq",       "high_freq",
    "use_power",      "use_log_fbank",         "use_energy",       "raw_energy",     "energy_floor",
    "htk_compat"};

FbankOptions FbankOptionsFromFlags() {
  FbankOptions options;
  options.sample_frequency = static_cast<float>(FLAGS_sample_frequency);
  options.frame_length_ms = static_cast<float>(FLAGS_frame_length_ms);
  options.frame_shift_ms = static_cast<float>(FLAGS_frame_shift_ms);
  options.snip_edges = FLAGS_snip_edges;
  options.dither = static_cast<float>(FLAGS_dither);
  options.dither_seed = FLAGS_dither_seed;
  options.remove_dc_offset = FLAGS_remove_dc_offset;
  options.preemph_coeff = static_cast<float>(FLAGS_preemph_coeff);
  options.window_type = FLAGS_window_type;
  options.blackman_coeff = static_cast<float>(FLAGS_blackman_coeff);
  options.round_to_power_of_two = FLAGS_round_to_power_of_two;
  options.num_mel_bins = FLAGS_num_mel_bins;
  options.low_freq = static_cast<float>(FLAGS_low_freq);
  options.high_freq = static_cast<float>(FLAGS_high_freq);
  options.use_power = FLAGS_use_power;
  options.use_log_fbank = FLAGS_use_log_fbank;
  options.use_energy = FLAGS_use_energy;
  options.raw_energy = FLAGS_raw_energy;
  options.energy_floor = static_cast<float>(FLAGS_energy_floor);
  options.htk_compat = FLAGS_htk_compat;
  return options;
}

void CheckFlags() {
  RequireFlag("wav", "an audio file, or - for standard input");
  RequireFlag("output", kNpyFile);
  CheckOutputIsNoInput(FLAGS_output, {FLAGS_model, FLAGS_units, FLAGS_wav});
  CheckOutputCanBeRewritten(FLAGS_output);
  if (FLAGS_model.empty()) return;
  for (const char* flag : kFeatureFlags) {
    if (IsFlagGiven(flag)) {
      throw std::invalid_argument(std::string("--") + flag +
                                  " cannot be given with --model, which has its own");
    }
  }
}

int Run(Console* console) {
  CheckFlags();
  std::shared_ptr<const FrameExtractor> extractor;
  auto sample_scale = static_cast<float>(FLAGS_sample_scale);
  if (FLAGS_model.empty()) {
    extractor = std::make_shared<const Fbank>(FbankOptionsFromFlags());
  } else {
    ModelOptions options;
    options.units_file = FLAGS_units;
    const std::shared_ptr<const Model> model = Model::Load(FLAGS_model, options);
    extractor = model->parts().frame_extractor;
    sample_scale = model->parts().config.features.sample_scale;
  }

  AudioFeatureSource source(FLAGS_wav, AudioOptionsFromFlags(), extractor, sample_scale);
  NpyWriter writer(FLAGS_output, source.dim(), NpyType::kFloat32);
  std::vector<float> frames(static_cast<size_t>(kFramesPerBlock * source.dim()));
  while (const int64_t num_frames = source.Read(frames.data(), kFramesPerBlock)) {
    writer.Append(frames.data(), num_frames);
  }
  writer.Close();
  for (const std::string& warning : source.Warnings()) console->Info(warning);
  console->Info(FLAGS_output + ": " + std::to_string(writer.num_rows()) + " frames of " +
                std::to_string(source.dim()) + " values");
  return kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"dump_features",
                    runnel::kUsage,
                    {{__FILE__}, runnel::kAudioFlagsSource},
                    {"wav", "output", "model"},
                    {"wav"}},
                   runnel::Run);
}
