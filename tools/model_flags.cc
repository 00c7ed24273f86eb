#include "tools/model_flags.h"

#include <gflags/gflags.h>

#include "tools/command_line.h"

DEFINE_string(model, "", "Model file (models/README.md), or WeNet's final.zip with --units.");
DEFINE_string(units, "", "units.txt of a model file that holds none (WeNet's final.zip).");
DEFINE_bool(dynamic_chunk_convolution, false,
            "Stream a model with symmetric convolution: frames after a chunk count as zero in it. "
            "Changes its results.");
DEFINE_bool(running_normalization, false,
            "Stream a model that normalises features over the utterance: by what was heard so far "
            "instead. Changes its results.");

namespace runnel {

const char* const kModelFlagsSource = __FILE__;

std::shared_ptr<const Model> LoadModel(Precision precision) {
  RequireFlag("model", kModelFile);
  ModelOptions options;
  options.precision = precision;
  options.units_file = FLAGS_units;
  options.dynamic_chunk_convolution = FLAGS_dynamic_chunk_convolution;
  options.running_normalization = FLAGS_running_normalization;
  return Model::Load(FLAGS_model, options);
}

bool IsAsInFile() {
  return FLAGS_units.empty() && !FLAGS_dynamic_chunk_convolution && !FLAGS_running_normalization;
}

const std::string& ModelFile() { return FLAGS_model; }

std::vector<std::string> ModelInputFiles() { return {FLAGS_model, FLAGS_units}; }

}  // namespace runnel
