#include "frontend/media/media_process.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "platform/process.h"
#include "platform/socket_pair.h"

namespace runnel {
namespace {

constexpr char kProgram[] = "media_decoder";
constexpr char kProgramVariable[] = "RUNNEL_MEDIA_DECODER";
constexpr char kLibrariesVariable[] = "LD_LIBRARY_PATH";
constexpr char kPatienceVariable[] = "RUNNEL_MEDIA_PATIENCE_S";
// A decoder that makes no progress for so long makes none at all. The index of a file may be long;
// a stream's request is 64 KiB at most, and somebody waits for its text.
constexpr double kFilePatienceS = 60;
constexpr double kStreamPatienceS = 10;
constexpr double kMaxPatienceS = 1e6;
constexpr int kCannotRun = 127;  // exit status when the libraries of a program are missing

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

[[noreturn]] void FailWithErrno(const std::string& what, int number) {
  Fail(what + ": " + std::generic_category().message(number));
}

std::filesystem::path FindProgram() {
  if (const char* const chosen = std::getenv(kProgramVariable)) return chosen;
  if (!CanStartPrograms()) {
    Fail(
        "cannot be decoded, because there is no media_decoder for this system; expected WAV, FLAC "
        "or another format of libsndfile");
  }
  std::error_code error;
  const std::filesystem::path program = ProgramFolder();
  const std::filesystem::path installed = std::filesystem::path(RUNNEL_LIBEXEC_DIR) / kProgram;
  for (const auto& path : {program / kProgram, program / "../libexec/runnel" / kProgram,
                           ModuleFolder() / "bin" / kProgram, installed}) {
    if (path.is_absolute() && std::filesystem::is_regular_file(path, error)) return path;
  }
  Fail("needs the program media_decoder (Debian package runnel-media), expected as " +
       installed.string() + " or where " + kProgramVariable + " says");
}

std::string Describe(const ProcessEnd& end) {
  if (end.by_signal) return "was ended by signal " + std::to_string(end.number);
  if (end.number == kCannotRun) return "cannot be started, FFmpeg's libraries are missing";
  return "ended with status " + std::to_string(end.number);
}

std::chrono::milliseconds PatienceWith(MediaSource source) {
  double seconds = source == MediaSource::kFile ? kFilePatienceS : kStreamPatienceS;
  if (const char* const chosen = std::getenv(kPatienceVariable)) {
    char* end = nullptr;
    seconds = std::strtod(chosen, &end);
    if (*end != '\0' || !(seconds > 0 && seconds <= kMaxPatienceS)) {
      Fail(std::string("cannot be decoded (") + kPatienceVariable + " is " + chosen +
           ", expected seconds above 0)");
    }
  }
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

// What the loader of programs needs to find FFmpeg's libraries, where they are not the system's.
std::vector<std::string> Environment() {
  const char* const folders = std::getenv(kLibrariesVariable);
  if (folders == nullptr) return {};
  return {std::string(kLibrariesVariable) + "=" + folders};
}

std::pair<FileDescriptor, FileDescriptor> Sockets() {
  try {
    return MakeSocketPair();
  } catch (const std::system_error& error) {
    FailWithErrno("cannot be given to media_decoder", error.code().value());
  }
}

}  // namespace

std::unique_ptr<MediaProcess> MediaProcess::OfFile(int file, const std::string& container,
                                                   const MediaChoice& choice) {
  return Start(file, MediaSource::kFile, container, choice);
}

std::unique_ptr<MediaProcess> MediaProcess::OfStream(const std::string& container) {
  return Start(-1, MediaSource::kStream, container, {});
}

MediaProcess::MediaProcess(const std::string& program, int file, MediaSource source,
                           const std::string& container, const MediaChoice& choice,
                           FileDescriptor ours, int theirs)
    : process_({program, source == MediaSource::kFile ? kMediaOfFile : kMediaOfStream, container,
                std::to_string(choice.channel), std::to_string(choice.audio_track),
                choice.is_strict ? kMediaStrict : kMediaLenient},
               Environment(), file, theirs, /*errors=*/-1),
      replies_(std::move(ours), source, PatienceWith(source)) {}

MediaProcess::~MediaProcess() = default;

std::unique_ptr<MediaProcess> MediaProcess::Start(int file, MediaSource source,
                                                  const std::string& container,
                                                  const MediaChoice& choice) {
  const std::string program = FindProgram().string();
  auto [ours, theirs] = Sockets();
  try {
    return std::unique_ptr<MediaProcess>(
        new MediaProcess(program, file, source, container, choice, std::move(ours), theirs.get()));
  } catch (const std::system_error& error) {
    FailWithErrno("needs the program " + program + ", which cannot be started",
                  error.code().value());
  }
}

template <typename Function>
auto MediaProcess::Guard(const Function& read) {
  try {
    return read();
  } catch (const MediaProcessGone&) {
    const std::optional<ProcessEnd> end = process_.WaitForEnd();
    Fail("cannot be decoded (media_decoder " +
         (end.has_value() ? Describe(*end) : "ended before the recording did") + ")");
  }
}

void MediaProcess::Give(std::string_view bytes) {
  if (!replies_.is_hungry() || bytes.size() > kMaxMediaRequestBytes) {
    throw std::logic_error("MediaProcess::Give: the decoder is not hungry, or too many bytes");
  }
  const auto size = static_cast<uint32_t>(bytes.size());
  std::string request(reinterpret_cast<const char*>(&size), sizeof(size));
  request += bytes;
  replies_.OnRequest();
  for (std::string_view rest = request; !rest.empty();) {
    const SocketResult sent = SendSome(replies_.socket(), rest.data(), rest.size());
    // The socket has room for a request, because a hungry decoder has read the last one.
    if (sent.state == SocketState::kWouldWait) {
      Fail("cannot be decoded (media_decoder asked for bytes and does not read them)");
    }
    // A decoder that has gone leaves an end or an error, which the next Read finds.
    if (sent.state == SocketState::kClosed) return;
    rest.remove_prefix(sent.count);
  }
}

size_t MediaProcess::Read(float* samples, size_t max_samples) {
  return Guard([&] { return replies_.Read(samples, max_samples); });
}

void MediaProcess::ReadFormat() {
  Guard([&] { replies_.ReadFormat(); });
}

}  // namespace runnel
