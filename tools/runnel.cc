// runnel: runs the other tools as the commands of one program.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/version.h"
#include "tools/cli/closest_name.h"

namespace runnel {
namespace {

namespace fs = std::filesystem;

struct Command {
  std::string name;
  std::string program;  // a tool, or the Python program kConvert
  std::string purpose;
};

constexpr char kConvert[] = "convert.py";

// Of earlier releases, for "transcribe".
constexpr char kFormerTranscribe[] = "decode";

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      {"transcribe", "decode_wav", "recognises speech in audio files"},
      {"live", "live_captions", "shows what is spoken into the microphone"},
      {"serve", "stream_server", "recognises live streams and recordings of many clients"},
      {"models", "list_models", "describes model files: kind, languages, how they stream"},
      {"client", "stream_client", "sends recordings to a server and prints the text"},
      {"load", "load_client", "runs many streams against a server and reports latencies"},
      {"convert", kConvert, "converts a model of WeNet, NeMo, ESPnet or icefall"},
      {"verify", "verify_streaming", "checks that a model gives the same results streamed"},
      {"delay", "measure_delay", "measures how late the tokens of a stream come"},
      {"bench", "bench_encoder", "measures time per chunk, streams per core and memory"},
      {"bench-lm", "bench_language_model", "measures a random n-gram language model"},
      {"pack", "pack_model", "makes a model file that loads at once"},
      {"compile-lm", "compile_lm", "compiles an n-gram language model"},
      {"features", "dump_features", "writes the features of a recording"},
      {"encoder", "dump_encoder", "writes encoder frames or log probabilities of a recording"},
  };
  return commands;
}

std::string HelpText() {
  std::string text =
      "runnel runs the tools of Runnel, a runtime for streaming speech recognition.\n\n"
      "  runnel COMMAND [flags]\n"
      "  runnel help COMMAND\n\n"
      "Commands, each with the name of its program in brackets:\n";
  for (const Command& command : Commands()) {
    const std::string gap(12 - command.name.size(), ' ');
    text += "  " + command.name + gap + command.purpose + " (" + command.program + ")\n";
  }
  return text +
         "\nExit code: that of the program; 1 it cannot be run, 2 unknown command.\n\n"
         "Examples:\n"
         "  runnel transcribe models/digits/digits.pt a.wav b.flac\n"
         "  runnel live models/digits/digits.pt\n"
         "  runnel serve models/digits/digits.pt --port=8080\n"
         "  runnel convert wenet exp/u2pp_conformer --output=model.pt\n"
         "  runnel help transcribe\n\n"
         "Flags:\n"
         "  --help, --version\n";
}

const Command& FindCommand(const std::string& name) {
  if (name == kFormerTranscribe) return FindCommand("transcribe");
  std::vector<std::string> names;
  std::string known;
  for (const Command& command : Commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
    known += (known.empty() ? "" : ", ") + command.name;
  }
  const std::string closest = ClosestName(name, names);
  throw std::invalid_argument(
      "unknown command '" + name + "', " +
      (closest.empty() ? "expected one of " + known : "did you mean '" + closest + "'?"));
}

fs::path OwnFolder() { return fs::read_symlink("/proc/self/exe").parent_path(); }

// The tools stand beside this program. The converter is installed with the data, or stands in the
// Python package that holds this program, or in the source tree around the build.
fs::path FindProgram(const std::string& program) {
  const fs::path folder = OwnFolder();
  if (program != kConvert) return folder / program;
  for (const char* const other : {"../../models", "../converters/models"}) {
    if (fs::exists(folder / other / program)) return (folder / other / program).lexically_normal();
  }
  return (folder / RUNNEL_DATA_FROM_BIN / "models" / program).lexically_normal();
}

// In front of the others on the PATH.
void AddToPath(const std::string& folder) {
  const char* const path = std::getenv("PATH");
  ::setenv("PATH", (folder + ":" + (path == nullptr ? "" : path)).c_str(), 1);
}

// Replaces this process by the program of the command, with these arguments.
[[noreturn]] void Execute(const Command& command, std::vector<std::string> arguments) {
  std::string path = FindProgram(command.program).string();
  ::setenv("RUNNEL_COMMAND", ("runnel " + command.name).c_str(), 1);
  if (command.program == kConvert) {
    AddToPath(OwnFolder().string());  // conversions run tools
    // Set by the Python package: the converter runs in the Python that the package is installed
    // for.
    if (const char* const python = std::getenv("RUNNEL_PYTHON")) {
      arguments.insert(arguments.begin(), path);
      path = python;
    }
  }
  std::vector<char*> argv = {path.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
  const int error = errno;
  if (error == ENOENT && fs::exists(path)) {
    throw std::runtime_error(command.name + " needs /usr/bin/python3, which is not installed");
  }
  if (error == ENOENT) {
    throw std::runtime_error(command.name + " needs " + path + ", which is not installed");
  }
  throw std::runtime_error(path + ": cannot run: " + std::strerror(error));
}

void Print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw std::runtime_error(std::string("standard output: cannot write: ") + std::strerror(errno));
  }
}

void Run(std::vector<std::string> arguments) {
  if (arguments.empty()) return Print(HelpText());
  const std::string name = arguments.front();
  arguments.erase(arguments.begin());
  if (name == "--version") return Print("runnel (Runnel) " RUNNEL_VERSION "\n");
  const bool is_help = name == "help" || name == "--help" || name == "-h";
  if (!is_help) Execute(FindCommand(name), std::move(arguments));
  if (arguments.empty()) return Print(HelpText());
  Execute(FindCommand(arguments.front()), {"--help"});
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) try {
  runnel::Run(std::vector<std::string>(argv + 1, argv + argc));
} catch (const std::invalid_argument& error) {
  std::fprintf(stderr, "runnel: %s (see runnel --help)\n", error.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "runnel: %s\n", error.what());
  return 1;
}
