// list_models: describes model files.
#include <gflags/gflags.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/model/model_parts.h"
#include "tools/cli/command_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/tool_main.h"

DEFINE_string(model, "", "Model files, separated by commas.");

namespace runnel {
namespace {

constexpr char kUsage[] =
    R"(list_models describes model files: size, kind, languages, and how they stream.

  list_models MODEL... [flags]

Each file is loaded, so a file that is listed can be used. A file that cannot be loaded is reported.
Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  list_models models/digits/digits.pt
  list_models *.pt
)";

std::string KindOf(const ModelParts& parts) {
  const EncoderConfig& encoder = parts.config.encoder;
  std::string kind = std::to_string(encoder.num_layers) + " layers of dimension " +
                     std::to_string(encoder.model_dim);
  if (parts.ctc_head != nullptr) kind += ", CTC";
  if (parts.transducer != nullptr) kind += ", transducer";
  if (parts.attention_decoder != nullptr) kind += ", attention decoder";
  return kind;
}

std::string Frames(int64_t count, const Model& model) {
  return Decimal(static_cast<double>(count) * model.encoder_frame_ms() / 1000, 2) + " s";
}

std::string StreamingOf(const Model& model) {
  const StreamingConfig& streaming = model.streaming();
  StreamingSetting setting = {streaming.chunk_size, streaming.left_context};
  std::string beginning = "streams";
  if (streaming.window) {
    setting = *streaming.window;
    beginning = "offline, streams in windows";
  }
  if (setting.chunk_size < 0) return "needs the whole utterance";
  std::string text = beginning + ": chunks of " + Frames(setting.chunk_size, model) +
                     ", left context " +
                     (setting.left_context < 0 ? "all" : Frames(setting.left_context, model));
  if (setting.right_context >= 0) text += ", right context " + Frames(setting.right_context, model);
  return text;
}

std::string Describe(const std::string& file, const Model& model) {
  const auto bytes = static_cast<double>(std::filesystem::file_size(std::filesystem::u8path(file)));
  std::string text = file + ": " + model.name() + ", " + Decimal(bytes / 1e6, 1) + " MB\n  " +
                     KindOf(model.parts()) + ", " + std::to_string(model.tokens().size()) +
                     " tokens, audio of " + std::to_string(model.sample_rate_hz()) + " Hz\n";
  std::string languages;
  for (const std::string& language : model.languages()) {
    languages += (languages.empty() ? "  languages: " : ", ") + language;
  }
  if (!languages.empty()) text += languages + "\n";
  return text + "  " + StreamingOf(model) + "; " + model.ComputeDescription() + "\n";
}

int Run(Console* console) {
  RequireFlag("model", kModelFile);
  bool has_failed = false;
  for (const std::string& file : FilesOf("model")) {
    std::string text;
    try {
      text = Describe(file, *Model::Load(file));
    } catch (const std::exception& error) {
      console->Error(error.what());
      has_failed = true;
    }
    std::fputs(text.c_str(), stdout);
    FlushStandardOutput();
  }
  return has_failed ? kExitFailure : kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"list_models", runnel::kUsage, {{__FILE__}}, {"model"}, {"model"}, {"model"}},
                   runnel::Run);
}
