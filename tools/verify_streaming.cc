// verify_streaming: checks that a model gives the same results however it is streamed.
#include <gflags/gflags.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/model/packed_file.h"
#include "tools/cli/audio_flags.h"
#include "tools/cli/command_line.h"
#include "tools/cli/model_flags.h"
#include "tools/cli/run_in_threads.h"
#include "tools/cli/speech_noise.h"
#include "tools/cli/tool_main.h"
#include "tools/verification/check.h"
#include "tools/verification/verify_model.h"
#include "tools/verification/whole_audio.h"

DEFINE_string(wav, "", "Audio file; -: standard input.");
DEFINE_double(seconds, 0, "Seconds of speech-shaped noise, instead of --wav.");
DEFINE_uint64(seed, 1, "Seed of the noise, the packet sizes and the batches.");
DEFINE_double(
    tolerance, 0,
    "Largest relative error allowed between different computations of the same frames. 0: "
    "1e-10 in float64, which proves equality; 1e-4 in float32, because trained models amplify "
    "rounding at frames between two tokens; 0.25 in bfloat16, also of the caches alone, and 0.5 in "
    "int8 and int4, whose results differ from TorchScript's by design. With the CPU backend, "
    "chunks, "
    "packets, copies and batches must agree bit for bit whatever the tolerance; with LibTorch, "
    "packets and copies are allowed a tenth of it.");
DEFINE_bool(verbose, false, "Also print the errors of every layer and of every setting.");
DEFINE_int32(num_threads, 0, "Settings computed at the same time; 0: one per core.");

namespace runnel {
namespace {

constexpr char kUsage[] =
    R"(verify_streaming checks that a model gives the same results however it is streamed.

  verify_streaming MODEL (FILE | --seconds=30) [flags]

It tries chunk sizes C of 1, 2, 3, 4, 8, 16 and the whole utterance, left contexts M of 0, 1, C, 3C+1
and all, and the setting that the model recommends, in float32 and float64 (or --precision; float32 alone
if options of the CPU backend are given). It compares
  - chunk by chunk with the whole utterance under the chunk mask,
  - audio in packets of random size, a stream copied midway, and streams of all settings in one batch
    with each stream on its own,
  - Runnel with the model file's own TorchScript, run by LibTorch: forward and forward_chunk, or encode
    and encode_chunk for a model without CTC,
  - of a transducer: tokens and frames of greedy search, in streams with random packets and batches, with
    those of the whole utterance; and, along these and random tokens, every step of the predictor and the
    joint network with TorchScript,
  - of an attention decoder: scores of random hypotheses, in each direction, with TorchScript,
  - of a language prompt: its output for two languages with TorchScript,
and prints the largest error of each. A file with packed weights holds no TorchScript: instead, the
encoder is compared with LibTorch's operations in float64, with the weights as they were rounded. Errors
are relative to the largest magnitude in the result (or to 1 where that is larger); of tokens, the error
is the number that differ. Memory grows with the square of the audio's length; use a minute or less.
Exit code: 0 all within the tolerance, 1 otherwise, 2 wrong flags.

Examples:
  verify_streaming models/digits/digits.pt --seconds=30
  verify_streaming models/digits/digits.pt a.wav --precision=float32 --verbose
)";

constexpr double kMinSeconds = 1e-3;
constexpr double kMaxSeconds = 3600;

void CheckFlags() {
  RequireFlag("model", kModelFile);
  RequireEither("wav", "seconds");
  if (FLAGS_wav.empty()) RequireRange("seconds", FLAGS_seconds, kMinSeconds, kMaxSeconds, "s");
  RequireRange("num_threads", FLAGS_num_threads, 0, kMaxThreads);
  if (FLAGS_wav.empty()) RequireNoAudioFlags("--seconds: noise has one");
  RequireAtLeast("--tolerance", FLAGS_tolerance, 0);
}

// Whether the flags give options that float64 refuses.
bool NeedsCpuBackend() {
  const ModelOptions options = ModelOptionsFromFlags(Precision::kDefault);
  return options.backend == Backend::kCpu || options.step_threads > 1 || options.bfloat16_cache;
}

bool IsByLibTorch() {
  return ModelOptionsFromFlags(Precision::kDefault).backend == Backend::kLibTorch ||
         PrecisionFromFlag() == Precision::kFloat64;
}

std::vector<Precision> PrecisionsFromFlag() {
  if (const std::optional<Precision> precision = PrecisionFromFlag()) return {*precision};
  if (IsPackedFile(ModelFile()) && !IsByLibTorch()) return {ReadPackedFile(ModelFile()).precision};
  if (NeedsCpuBackend()) return {Precision::kFloat32};
  return {Precision::kFloat32, Precision::kFloat64};
}

double ToleranceOf(Precision precision) {
  switch (precision) {
    case Precision::kFloat64:
      return 1e-10;
    case Precision::kDefault:
    case Precision::kFloat32:
      return 1e-4;
    case Precision::kBfloat16:
      return 0.25;
    case Precision::kInt8:
    case Precision::kInt4:
      return 0.5;
  }
  throw std::logic_error("a precision without a tolerance");
}

double DefaultTolerance(const ModelOptions& options) {
  const double tolerance = ToleranceOf(options.precision);
  return options.bfloat16_cache ? std::max(tolerance, ToleranceOf(Precision::kBfloat16))
                                : tolerance;
}

std::vector<float> Samples(int sample_rate_hz) {
  if (FLAGS_wav.empty()) return SpeechShapedNoise(FLAGS_seconds, sample_rate_hz, FLAGS_seed);
  return ReadSamples(FLAGS_wav, sample_rate_hz, AudioOptionsFromFlags());
}

VerificationOptions OptionsFromFlags(Precision precision) {
  VerificationOptions options;
  options.tolerance =
      FLAGS_tolerance > 0 ? FLAGS_tolerance : DefaultTolerance(ModelOptionsFromFlags(precision));
  options.seed = FLAGS_seed;
  options.layer_by_layer = FLAGS_verbose;
  options.compare_torchscript = IsAsInFile() && !IsPackedFile(ModelFile());
  options.compare_libtorch = IsPackedFile(ModelFile()) && !IsByLibTorch();
  options.num_threads = ThreadsOrCores(FLAGS_num_threads);
  return options;
}

// Prints the table of one precision. Returns the first failure, "" if there is none.
std::string Verify(Precision precision, const std::vector<float>& samples, Console* console) {
  const std::string name = PrecisionName(precision);
  size_t num_done = 0;
  const VerificationReport report = VerifyModel(
      ModelFile(), ModelOptionsFromFlags(precision), samples, OptionsFromFlags(precision),
      [&](const std::string& setting, size_t num_settings) {
        console->SetStatus(name + " " + std::to_string(++num_done) + "/" +
                           std::to_string(num_settings) + " " + setting);
      });
  console->SetStatus("");
  std::string tokens;
  if (const auto count = report.most_tokens) {
    tokens = ", up to " + std::to_string(*count) + " tokens of the transducer";
    if (const size_t uncompared = report.most_uncompared_tokens; uncompared > 0) {
      tokens += " (rounding decides the last " + std::to_string(uncompared) +
                ", which are not compared with streams)";
    }
  }
  std::printf("%s: %zu settings, %lld encoder frames%s\n%s", name.c_str(), report.num_settings,
              static_cast<long long>(report.num_encoder_frames), tokens.c_str(),
              Check::TableHead().c_str());
  for (const Check& check : report.checks) std::printf("%s", check.TableRow().c_str());
  for (const auto& [layer, error] : report.layer_errors) {
    std::printf("  chunk by chunk, %-28s %9s %9s\n", layer.c_str(),
                FormatError(error.absolute).c_str(), FormatError(error.relative).c_str());
  }
  if (FLAGS_verbose) {
    for (const std::string& line : report.setting_lines) std::printf("  %s\n", line.c_str());
  }
  FlushStandardOutput();
  for (const Check& check : report.checks) {
    if (!check.passed()) return name + ": " + check.Failure();
  }
  return "";
}

int Run(Console* console) {
  CheckFlags();
  const std::vector<Precision> precisions = PrecisionsFromFlag();
  RequireVerification();
  const std::vector<float> samples = Samples(LoadModel()->sample_rate_hz());
  if (IsPackedFile(ModelFile())) {
    std::printf("not compared with TorchScript, which a file with packed weights does not hold\n");
  } else if (!IsAsInFile()) {
    std::printf(
        "not compared with the file's TorchScript, which is WeNet's or computes without "
        "the substitutes asked for\n");
  }
  if (!PrecisionFromFlag() && NeedsCpuBackend() && !IsPackedFile(ModelFile())) {
    std::printf("float64 is left out: the CPU backend, which the flags ask for, has none\n");
  }
  std::string failure;
  for (const Precision precision : precisions) {
    const std::string found = Verify(precision, samples, console);
    if (failure.empty()) failure = found;
  }
  if (!failure.empty()) throw std::runtime_error(failure);
  std::printf("passed\n");
  return kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"verify_streaming",
                    runnel::kUsage,
                    {{__FILE__}, runnel::kAudioFlagsSource, runnel::kModelFlagsSource},
                    {"model", "wav", "seconds", "precision", "num_threads", "verbose"},
                    {"model", "wav"}},
                   runnel::Run);
}
