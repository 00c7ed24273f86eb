// pack_model: writes a model file whose weights are packed.
#include "runtime/model/pack_model.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/model/four_bit_layers.h"
#include "runtime/model/model_parts.h"
#include "runtime/model/packed_file.h"
#include "tools/cli/command_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/feature_source.h"
#include "tools/cli/output_check.h"
#include "tools/cli/tool_main.h"
#include "tools/decode/input/recording_list.h"

// Other options of a model are of the programs that run the packed file.
DEFINE_string(model, "", "Model file (models/README.md), or WeNet's final.zip with --units.");
DEFINE_string(precision, "", "Data type of the packed weights: float32, bfloat16, int8 or int4.");
DEFINE_string(units, "", "units.txt of a model file that holds none (WeNet's final.zip).");
DEFINE_string(wav, "",
              "With int4: audio files, separated by commas, of speech for which weights are "
              "rounded.");
DEFINE_string(wav_scp, "", "The same as a list: \"id path\" per line.");
DEFINE_double(max_error, 0.25,
              "With speech: largest change of the encoder's output by weights of four bits, as a "
              "share of the output. Layers keep eight bits where it would be larger.");
DEFINE_string(output, "", "File to write.");

namespace runnel {
namespace {

// With less, the rounding of weights for speech is no better than without it.
constexpr double kLeastSpeechS = 2;

constexpr char kPrecisions[] = "float32, bfloat16, int8 or int4";

constexpr char kUsage[] =
    R"(pack_model writes a model file that holds its weights as the CPU backend computes with them.

  pack_model M.pt --precision=int8 --output=M.int8

Every tool takes the new file as --model. It is mapped: it loads at once, no second copy of the
weights is in memory, and processes share it. Results are those of M.pt with the same --precision, to
the bit. The file serves every CPU. The output replaces a file of its name when it is complete.

int4 gives the matrices of the encoder's layers weights of four bits, and the others eight. With some
minutes of speech (--wav or --wav_scp), weights are rounded so that the output changes little on it.
Layers that still change it most keep eight bits, until all others together change it by --max_error
at most, if their errors add up like noise. Only pack_model gives int4.
Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  pack_model models/digits/digits.pt --precision=int8 --output=digits.int8
  pack_model M.pt --precision=int4 --wav_scp=speech.scp --output=M.int4
  pack_model final.zip --units=units.txt --precision=bfloat16 --output=wenet.bfloat16
)";

Precision PrecisionFromFlag() {
  RequireFlag("precision", kPrecisions);
  for (const Precision precision :
       {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8, Precision::kInt4}) {
    if (FLAGS_precision == PrecisionName(precision)) return precision;
  }
  throw std::invalid_argument("--precision is '" + FLAGS_precision + "', expected " + kPrecisions);
}

void CheckSpeechFlags(Precision precision) {
  if (!FLAGS_wav.empty() && !FLAGS_wav_scp.empty()) {
    throw std::invalid_argument("--wav and --wav_scp are both set, expected one of them");
  }
  RequireRange("max_error", FLAGS_max_error, 0.0, 1.0);
  const bool has_speech = !FLAGS_wav.empty() || !FLAGS_wav_scp.empty();
  for (const char* name : {"wav", "wav_scp", "max_error"}) {
    if (!IsFlagGiven(name) || (precision == Precision::kInt4 && has_speech)) continue;
    throw std::invalid_argument(
        std::string("--") + name + " is set, expected " +
        (precision == Precision::kInt4 ? "--wav or --wav_scp with it" : "--precision=int4"));
  }
}

// Frames that are unlike the frame before: those of digital silence are all alike.
size_t NumChangingFrames(const std::vector<float>& frames, size_t dim) {
  size_t num_changing = 0;
  for (size_t begin = dim; begin + dim <= frames.size(); begin += dim) {
    const auto frame = frames.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto is_like = [](float a, float b) { return std::abs(a - b) < 1e-3F; };
    if (!std::equal(frame, frame + static_cast<std::ptrdiff_t>(dim),
                    frame - static_cast<std::ptrdiff_t>(dim), is_like)) {
      ++num_changing;
    }
  }
  return num_changing;
}

std::vector<std::vector<float>> ReadSpeech(const std::vector<Recording>& recordings,
                                           const ModelParts& model, Console* console) {
  std::vector<std::vector<float>> speech;
  size_t num_values = 0;
  size_t num_changing = 0;
  const auto dim = static_cast<size_t>(model.frame_extractor->dim());
  for (const Recording& recording : recordings) {
    AudioFeatureSource source(recording.path, {}, model.frame_extractor,
                              model.config.features.sample_scale);
    speech.push_back(source.ReadVector(std::numeric_limits<int64_t>::max()));
    num_values += speech.back().size();
    num_changing += NumChangingFrames(speech.back(), dim);
    for (const std::string& warning : source.Warnings()) console->Info(warning);
    if (speech.back().empty()) {
      console->Info(recording.path + ": is too short for a feature frame and was left out");
    }
  }
  const double frame_s = model.frame_extractor->geometry().shift_ms() / 1000;
  const auto num_frames = num_values / dim;
  console->Info("speech: " + Decimal(static_cast<double>(num_frames) * frame_s, 1) + " s in " +
                std::to_string(recordings.size()) + " recordings");
  if (num_changing == 0) {
    throw std::runtime_error(
        "the recordings are digital silence or too short, expected some "
        "minutes of speech");
  }
  const double changing_s = static_cast<double>(num_changing) * frame_s;
  if (changing_s < kLeastSpeechS) {
    console->Info("warning: only " + Decimal(changing_s, 2) +
                  " s are no digital silence, expected some minutes of speech: the weights are "
                  "rounded about as without it");
  }
  return speech;
}

// "0-3, 7"; "none".
std::string Text(const std::vector<int>& layers) {
  std::string text;
  for (size_t i = 0; i < layers.size(); ++i) {
    size_t last = i;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(layers[i]);
    if (last > i) text += "-" + std::to_string(layers[last]);
    i = last;
  }
  return text.empty() ? "none" : text;
}

// None without the flags.
std::vector<Recording> SpeechFromFlags() {
  return FLAGS_wav_scp.empty() ? RecordingsFromPaths(FilesOf("wav"))
                               : ReadRecordingList(FLAGS_wav_scp);
}

uint64_t PackBySpeech(const std::vector<Recording>& recordings, Console* console) {
  FourBitOptions options;
  options.read_speech = [&](const ModelParts& model) {
    return ReadSpeech(recordings, model, console);
  };
  options.max_error = FLAGS_max_error;
  options.on_layer = [console](int layer, int num_layers) {
    console->SetStatus("layer " + std::to_string(layer + 1) + "/" + std::to_string(num_layers));
  };
  const FourBitFile file = PackInFourBits(FLAGS_model, FLAGS_units, FLAGS_output, options);
  console->SetStatus("");
  for (const LayerError& layer : file.layers) {
    console->Info("layer " + std::to_string(layer.layer) + ": four bits change the output by " +
                  Decimal(100 * layer.error, 2) + " %");
  }
  console->Info("layers of eight bits: " + Text(file.eight_bit_layers));
  return file.size;
}

int Run(Console* console) {
  RequireFlag("model", kModelFile);
  const Precision precision = PrecisionFromFlag();
  RequireFlag("output", "a file to write");
  CheckSpeechFlags(precision);
  std::vector<std::string> inputs = {FLAGS_model, FLAGS_units, FLAGS_wav_scp};
  const std::vector<Recording> speech = SpeechFromFlags();
  for (const Recording& recording : speech) inputs.push_back(recording.path);
  CheckOutputIsNoInput(FLAGS_output, inputs);
  CheckOutputCanBeReplaced(FLAGS_output);
  const uint64_t size = speech.empty()
                            ? PackModel(FLAGS_model, precision, FLAGS_units, FLAGS_output)
                            : PackBySpeech(speech, console);
  console->Info(FLAGS_output + ": packed as " + PrecisionName(precision) + ", " +
                Decimal(static_cast<double>(size) / 1e6, 1) + " MB");
  return kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"pack_model",
                    runnel::kUsage,
                    {{__FILE__}},
                    {"model", "precision", "output"},
                    {"model"},
                    {"wav"}},
                   runnel::Run);
}
