// live_captions: shows what is spoken into a microphone, while it is spoken.
#include <gflags/gflags.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "frontend/audio_source.h"
#include "platform/child_process.h"
#include "platform/process.h"
#include "platform/socket_pair.h"
#include "runtime/model.h"
#include "runtime/stream.h"
#include "tools/cli/audio_flags.h"
#include "tools/cli/command_line.h"
#include "tools/cli/model_flags.h"
#include "tools/cli/stream_flags.h"
#include "tools/cli/tool_main.h"

DEFINE_string(wav, "", "Audio in place of the microphone: a file, or -: standard input.");

namespace runnel {
namespace {

StreamFlags stream_flags(OptionUser::kDecodeWav);

constexpr char kUsage[] =
    R"(live_captions shows what is spoken into the microphone, while it is spoken.

  live_captions MODEL [flags]

It records with arecord (Debian's package alsa-utils), or with parec (pulseaudio-utils) where there is
no arecord. The last line of the terminal shows the utterance that is being spoken. An utterance that
has ended is a line of standard output. Ctrl-C ends the recording, a second Ctrl-C the program.
Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  live_captions models/digits/digits.pt
  live_captions models/digits/digits.pt --precision=int8 >notes.txt
  ffmpeg -loglevel error -i rtsp://camera/ -f wav - | live_captions M.pt -
)";

constexpr int kBlocksPerSecond = 20;
constexpr int kNoRecorder = 127;  // exit code of a shell without the program

// Records until it is interrupted; its WAV file becomes the standard input of this process.
class Recorder {
 public:
  explicit Recorder(int rate_hz) {
    try {
      Start(rate_hz);
    } catch (const std::system_error& error) {
      throw std::system_error(error.code(), "cannot start a recorder");
    }
  }

  // When no more audio is read, which ends a recorder that still records. Throws std::runtime_error
  // when it has failed; it has said why.
  void CheckEnd() {
    ::close(STDIN_FILENO);
    const std::optional<ProcessEnd> end = process_->WaitForEnd();
    const int status = end.has_value() && !end->by_signal ? end->number : 0;
    if (status == kNoRecorder) {
      throw std::runtime_error(
          "there is no arecord and no parec, expected Debian's package alsa-utils or "
          "pulseaudio-utils, or audio by --wav");
    }
    if (status != 0 && !has_recorded_) {
      throw std::runtime_error("the recorder ended with exit code " + std::to_string(status) +
                               " and without audio");
    }
  }

  void OnAudio() { has_recorded_ = true; }

 private:
  static std::string Command(int rate_hz) {
    const std::string rate = std::to_string(rate_hz);
    return "if command -v arecord >/dev/null; then exec arecord -q -t wav -f S16_LE -c 1 -r " +
           rate +
           "; elif command -v parec >/dev/null; then exec parec --file-format=wav --format=s16le "
           "--channels=1 --rate=" +
           rate + "; else exit " + std::to_string(kNoRecorder) + "; fi";
  }

  static std::vector<std::string> Environment() {
    std::vector<std::string> variables;
    for (char** variable = ::environ; *variable != nullptr; ++variable) {
      variables.emplace_back(*variable);
    }
    return variables;
  }

  void Start(int rate_hz) {
    const auto [ours, theirs] = MakeSocketPair();
    process_.emplace(std::vector<std::string>{"/bin/sh", "-c", Command(rate_hz)}, Environment(), -1,
                     theirs.get(), STDERR_FILENO);
    if (::dup2(ours.get(), STDIN_FILENO) < 0) {
      throw std::system_error(errno, std::generic_category());
    }
  }

  std::optional<ChildProcess> process_;
  bool has_recorded_ = false;
};

void ShowUtterances(Stream* stream, Console* console) {
  for (const Utterance& utterance : stream->TakeUtterances()) {
    const std::string& text = utterance.nbest.front().text;
    if (text.empty()) continue;
    console->SetStatus("");
    std::puts(text.c_str());
    FlushStandardOutput();
  }
}

void ShowAudio(const std::string& path, Stream* stream, Recorder* recorder, Console* console) {
  AudioSource audio(path, stream->options().sample_rate_hz, AudioOptionsFromFlags());
  std::vector<float> block(static_cast<size_t>(audio.rate_hz() / kBlocksPerSecond));
  while (const size_t num_samples = audio.Read(block.data(), block.size())) {
    if (recorder != nullptr) recorder->OnAudio();
    stream->AcceptSamples(block.data(), num_samples);
    stream->Decode();
    ShowUtterances(stream, console);
    console->SetStatus(stream->Text());
  }
  stream->Finish();
  stream->Decode();
  ShowUtterances(stream, console);
  console->SetStatus("");
  for (const std::string& warning : audio.Warnings()) console->Info(warning);
}

int Run(Console* console) {
  RequireFlag("model", kModelFile);
  // Needed by other flags, which are checked.
  if (!IsFlagGiven("endpointing")) gflags::SetCommandLineOption("endpointing", "true");
  OptionValues values = stream_flags.Read().values;
  const std::shared_ptr<const Model> model = LoadModel();
  stream_flags.ReadFiles(model->tokens(), &values);
  Stream stream(model, values.stream);
  OutliveFirstInterrupt();
  if (!FLAGS_wav.empty()) {
    ShowAudio(FLAGS_wav, &stream, nullptr, console);
    return kExitSuccess;
  }
  Recorder recorder(model->sample_rate_hz());
  console->Info("model " + model->name() + ": speak; Ctrl-C ends");
  try {
    ShowAudio("-", &stream, &recorder, console);
  } catch (const std::exception&) {
    recorder.CheckEnd();  // why there is no audio
    throw;
  }
  recorder.CheckEnd();
  return kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"live_captions",
                    runnel::kUsage,
                    {{__FILE__},
                     runnel::kAudioFlagsSource,
                     runnel::kModelFlagsSource,
                     runnel::kStreamFlagsSource},
                    {"model", "wav", "precision", "chunk_size", "right_context", "hotwords"},
                    {"model", "wav"}},
                   runnel::Run);
}
