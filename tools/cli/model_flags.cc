#include "tools/cli/model_flags.h"

#include <gflags/gflags.h>

#include <optional>
#include <stdexcept>
#include <utility>

#include "runtime/model/packed_file.h"
#include "tools/cli/command_line.h"

DEFINE_string(model, "", "Model file (models/README.md), or WeNet's final.zip with --units.");
DEFINE_string(units, "", "units.txt of a model file that holds none (WeNet's final.zip).");
DEFINE_bool(
    dynamic_chunk_convolution, false,
    "Stream a model with symmetric convolution: its convolution takes frames after a chunk as "
    "zero. Changes the results. The recommended setting becomes --chunk_size=32 "
    "--left_context=128.");
DEFINE_bool(
    running_normalization, false,
    "Stream a model that normalises features over the utterance: the statistics are those of "
    "the frames so far. Changes the results. The recommended setting becomes --chunk_size=32 "
    "--left_context=128.");

DEFINE_string(precision, "",
              "Data type of large matrix multiplications: float32, bfloat16, int8; or float64, the "
              "reference. Empty: that of a packed model file, float32 of others; verify_streaming: "
              "float32 and float64.");
DEFINE_string(backend, "",
              "cpu (Runnel's kernels) or libtorch (the reference). Empty: cpu, but libtorch for "
              "float64.");
DEFINE_string(cache_precision, "float32",
              "Data type of the keys and values of a stream: float32, or bfloat16 for half the "
              "memory (CPU backend only).");

DEFINE_int32(
    step_threads, 1,
    "Threads that compute one chunk together. More than 1 shorten the time of a chunk where "
    "few streams run. More threads than idle cores make it longer. Results are the same (CPU "
    "backend only).");

namespace runnel {
namespace {

// The value that the text of a flag names. Throws std::invalid_argument if there is none.
template <typename Value>
Value Named(const char* flag, const std::string& given,
            const std::vector<std::pair<const char*, Value>>& values) {
  std::string expected;
  for (const auto& [name, value] : values) {
    if (given == name) return value;
    if (*name != '\0') expected += (expected.empty() ? "" : ", ") + std::string(name);
  }
  throw std::invalid_argument(std::string("--") + flag + " is '" + given + "', expected one of " +
                              expected);
}

const std::vector<std::pair<const char*, Precision>>& Precisions() {
  static const std::vector<std::pair<const char*, Precision>> precisions = {
      {"float32", Precision::kFloat32},
      {"bfloat16", Precision::kBfloat16},
      {"int8", Precision::kInt8},
      {"float64", Precision::kFloat64}};
  return precisions;
}

}  // namespace

const char* const kModelFlagsSource = __FILE__;

std::optional<Precision> PrecisionFromFlag() {
  if (FLAGS_precision.empty()) return std::nullopt;
  return Named("precision", FLAGS_precision, Precisions());
}

std::shared_ptr<const Model> LoadModel() {
  return LoadModel(PrecisionFromFlag().value_or(Precision::kDefault));
}

std::shared_ptr<const Model> LoadModel(Precision precision) {
  RequireFlag("model", kModelFile);
  ModelOptions options;
  options.precision = precision;
  options.backend = Named<Backend>(
      "backend", FLAGS_backend,
      {{"", Backend::kDefault}, {"cpu", Backend::kCpu}, {"libtorch", Backend::kLibTorch}});
  options.bfloat16_cache = Named<bool>("cache_precision", FLAGS_cache_precision,
                                       {{"float32", false}, {"bfloat16", true}});
  options.step_threads = FLAGS_step_threads;
  options.units_file = FLAGS_units;
  options.dynamic_chunk_convolution = FLAGS_dynamic_chunk_convolution;
  options.running_normalization = FLAGS_running_normalization;
  return Model::Load(FLAGS_model, options);
}

bool IsAsInFile() {
  return FLAGS_units.empty() && !FLAGS_dynamic_chunk_convolution && !FLAGS_running_normalization;
}

void RequireTorchScript(const std::string& purpose) {
  if (!IsPackedFile(FLAGS_model)) return;
  throw std::runtime_error(FLAGS_model + ": holds packed weights and no TorchScript " + purpose +
                           ", expected the model file that they were packed from");
}

const std::string& ModelFile() { return FLAGS_model; }
const std::string& ModelUnitsFile() { return FLAGS_units; }

std::vector<std::string> ModelInputFiles() { return {FLAGS_model, FLAGS_units}; }

}  // namespace runnel
