// pack_model: writes a model file whose weights are packed.
#include "runtime/model/pack_model.h"

#include <gflags/gflags.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "runtime/model/packed_file.h"
#include "tools/cli/command_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/output_check.h"
#include "tools/cli/tool_main.h"

// Other options of a model are of the programs that run the packed file.
DEFINE_string(model, "", "Model file (models/README.md), or WeNet's final.zip with --units.");
DEFINE_string(precision, "", "Data type of the packed weights: float32, bfloat16 or int8.");
DEFINE_string(units, "", "units.txt of a model file that holds none (WeNet's final.zip).");
DEFINE_string(output, "", "File to write.");

namespace runnel {
namespace {

constexpr char kPrecisions[] = "float32, bfloat16 or int8";

constexpr char kUsage[] =
    R"(pack_model writes a model file that holds its weights as the CPU backend computes with them.

  pack_model --model=M.pt --precision=int8 --output=M.int8

Every tool takes the new file as --model. It is mapped: it loads at once, no second copy of the
weights is in memory, and processes share it. Results are those of M.pt with the same --precision, to
the bit. The file serves every CPU. The output replaces a file of its name when it is complete.
Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  pack_model --model=models/digits/digits.pt --precision=int8 --output=digits.int8
  pack_model --model=final.zip --units=units.txt --precision=bfloat16 --output=wenet.bfloat16
)";

Precision PrecisionFromFlag() {
  RequireFlag("precision", kPrecisions);
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16, Precision::kInt8}) {
    if (FLAGS_precision == PrecisionName(precision)) return precision;
  }
  throw std::invalid_argument("--precision is '" + FLAGS_precision + "', expected " + kPrecisions);
}

int Run(Console* console) {
  RequireFlag("model", kModelFile);
  const Precision precision = PrecisionFromFlag();
  RequireFlag("output", "a file to write");
  CheckOutputIsNoInput(FLAGS_output, {FLAGS_model, FLAGS_units});
  CheckOutputCanBeReplaced(FLAGS_output);
  const uint64_t size = PackModel(FLAGS_model, precision, FLAGS_units, FLAGS_output);
  console->Info(FLAGS_output + ": packed as " + PrecisionName(precision) + ", " +
                Decimal(static_cast<double>(size) / 1e6, 1) + " MB");
  return kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv, {"pack_model", runnel::kUsage, {__FILE__}}, runnel::Run);
}
