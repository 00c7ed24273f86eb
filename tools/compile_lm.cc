// compile_lm: compiles an n-gram language model from ARPA text to a file that is mapped.
#include <gflags/gflags.h>

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/language_model.h"
#include "runtime/model.h"
#include "tools/cli/command_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/output_check.h"
#include "tools/cli/tool_main.h"

DEFINE_string(arpa, "", "ARPA text; it may be a pipe, such as /dev/stdin.");
DEFINE_string(output, "", "File to write.");
DEFINE_string(nemo_model, "",
              "For ARPA text of NeMo's train_kenlm.py: the acoustic model, as a model file of "
              "convert.py. Its tokens replace the characters that NeMo writes for them.");

namespace runnel {
namespace {

constexpr char kUsage[] =
    R"(compile_lm compiles an n-gram language model, so that it opens at once and is shared in memory.

  compile_lm LM.arpa --output=LM.bin

With --nemo_model, decode_wav and stream_server use the output at level token.
The n-grams may be in any order. The output replaces a file of its name when it is complete.
Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  compile_lm 3gram.arpa --output=3gram.bin
  gunzip -c 3gram.arpa.gz | compile_lm /dev/stdin --output=3gram.bin
  compile_lm nemo.arpa --nemo_model=model.pt --output=nemo.bin
)";

int Run(Console* console) {
  RequireFlag("arpa", "an n-gram model as ARPA text");
  RequireFlag("output", "a file to write");
  if (IsFlagGiven("nemo_model")) RequireFlag("nemo_model", kModelFile);
  CheckOutputIsNoInput(FLAGS_output, {FLAGS_arpa, FLAGS_nemo_model});
  CheckOutputCanBeReplaced(FLAGS_output);
  const auto report = [console](double fraction) {
    console->SetStatus(FLAGS_arpa + ": " + Decimal(100 * fraction, 0) + " %");
  };
  const auto model =
      FLAGS_nemo_model.empty()
          ? LanguageModel::Load(FLAGS_arpa, report)
          : LanguageModel::LoadNemo(FLAGS_arpa, Model::Load(FLAGS_nemo_model)->tokens(), report);
  console->SetStatus("");
  std::string ngrams;
  for (int length = 1; length <= model->order(); ++length) {
    ngrams +=
        ", " + std::to_string(model->num_ngrams(length)) + " " + std::to_string(length) + "-grams";
  }
  model->Save(FLAGS_output);
  console->Info(FLAGS_output + ": order " + std::to_string(model->order()) + ngrams + ", " +
                std::to_string(model->size()) + " bytes");
  return kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"compile_lm", runnel::kUsage, {{__FILE__}}, {"arpa", "output"}, {"arpa"}},
                   runnel::Run);
}
