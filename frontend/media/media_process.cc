#include "frontend/media/media_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace runnel {
namespace {

constexpr char kProgram[] = "media_decoder";
constexpr char kProgramVariable[] = "RUNNEL_MEDIA_DECODER";
// A decoder that sends nothing for so long will send nothing at all.
constexpr int kMaxSilenceS = 60;
constexpr int kCannotRun = 127;  // exit status when the libraries of a program are missing
constexpr int kMinDescriptor = 3;
constexpr int kMaxEndMs = 1000;  // between the end of a process' socket and its own

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

[[noreturn]] void FailWithErrno(const std::string& what, int number) {
  Fail(what + ": " + std::generic_category().message(number));
}

[[noreturn]] void FailAsBroken(const std::string& problem) {
  Fail("cannot be decoded (media_decoder " + problem + ")");
}

// The folder of the library or the extension module that this code is in; of a program, perhaps "".
std::filesystem::path OwnFolder() {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0) return {};
  const std::filesystem::path file = info.dli_fname;
  return file.is_absolute() ? file.parent_path() : std::filesystem::path();
}

std::filesystem::path FindProgram() {
  if (const char* const chosen = std::getenv(kProgramVariable)) return chosen;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::filesystem::path installed = std::filesystem::path(RUNNEL_LIBEXEC_DIR) / kProgram;
  for (const auto& path : {program / kProgram, program / "../libexec/runnel" / kProgram,
                           OwnFolder() / "bin" / kProgram, installed}) {
    if (path.is_absolute() && std::filesystem::is_regular_file(path, error)) return path;
  }
  Fail("needs the program media_decoder (Debian package runnel-media), expected as " +
       installed.string() + " or where " + kProgramVariable + " says");
}

// One that posix_spawn may put anywhere: dup2 of a descriptor onto itself would leave it closed.
FileDescriptor Duplicate(int fd) {
  const int duplicate = ::fcntl(fd, F_DUPFD_CLOEXEC, kMinDescriptor);
  if (duplicate < 0) FailWithErrno("cannot be given to media_decoder", errno);
  return FileDescriptor(duplicate);
}

// Settings of posix_spawn.
class SpawnSettings {
 public:
  SpawnSettings(int file, int socket) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    if (file >= 0) {
      ::posix_spawn_file_actions_adddup2(&actions_, file, kMediaFile);
    } else {
      ::posix_spawn_file_actions_addopen(&actions_, kMediaFile, "/dev/null", O_RDONLY, 0);
    }
    ::posix_spawn_file_actions_adddup2(&actions_, socket, kMediaSocket);
    ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // The signals of a server's threads are not those of the decoder.
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Kills a process and waits for it. Another part of the program may have waited already.
void Kill(pid_t pid) {
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Waits for a process that has closed its socket, and so is about to end. Its status; no value when
// it does not end, or another part of the program has waited for it.
std::optional<int> StatusOf(pid_t pid) {
  for (int ms = 0; ms < kMaxEndMs; ++ms) {
    int status = 0;
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Kill(pid);
  return std::nullopt;
}

std::string Describe(int status) {
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) == kCannotRun) {
    return "cannot be started, FFmpeg's libraries are missing";
  }
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

void MediaReplies::Receive(void* bytes, size_t size) {
  auto* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t count = ::recv(socket_.get(), to, size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      FailAsBroken("sent nothing for " + std::to_string(kMaxSilenceS) + " s");
    }
    if (count <= 0) throw MediaProcessGone();
    to += count;
    size -= static_cast<size_t>(count);
  }
}

template <typename Body>
Body MediaReplies::ReceiveBody(const MediaReplyHeader& header) {
  if (header.size != sizeof(Body)) FailAsBroken("sent a reply of a wrong size");
  Body body;
  Receive(&body, sizeof(body));
  return body;
}

void MediaReplies::ReadReply(const MediaReplyHeader& header) {
  if (header.size > kMaxMediaReplyBytes) FailAsBroken("sent a reply of a wrong size");
  switch (header.type) {
    case MediaReply::kFormat:
      if (format_.rate_hz > 0) FailAsBroken("sent a second format");
      format_ = ReceiveBody<MediaFormatReply>(header);
      if (format_.rate_hz < 1 || format_.channels < 1) FailAsBroken("sent a wrong format");
      return;
    case MediaReply::kSamples:
      if (format_.rate_hz == 0) FailAsBroken("sent samples before their format");
      if (header.size % sizeof(float) != 0) FailAsBroken("sent a reply of a wrong size");
      num_left_ = header.size / sizeof(float);
      return;
    case MediaReply::kHungry:
      if (header.size != 0) FailAsBroken("sent a reply of a wrong size");
      is_hungry_ = true;
      return;
    case MediaReply::kEnd:
      end_ = ReceiveBody<MediaEndReply>(header);
      return;
    case MediaReply::kError: {
      std::string text(header.size, '\0');
      Receive(text.data(), text.size());
      Fail(text);
    }
  }
  FailAsBroken("sent a reply of an unknown type");
}

bool MediaReplies::NextSamples() {
  while (num_left_ == 0 && !is_hungry_ && !has_ended()) {
    MediaReplyHeader header;
    Receive(&header, sizeof(header));
    ReadReply(header);
  }
  return num_left_ > 0;
}

void MediaReplies::ReadFormat() { NextSamples(); }

size_t MediaReplies::Read(float* samples, size_t max_samples) {
  size_t done = 0;
  while (done < max_samples && NextSamples()) {
    const size_t count = std::min(num_left_, max_samples - done);
    Receive(samples + done, count * sizeof(float));
    num_left_ -= count;
    done += count;
  }
  return done;
}

MediaProcess::MediaProcess(pid_t pid, FileDescriptor socket)
    : pid_(pid), replies_(std::move(socket)) {}

MediaProcess::~MediaProcess() {
  if (pid_ > 0) Kill(pid_);
}

std::unique_ptr<MediaProcess> MediaProcess::OfFile(int file, const std::string& container,
                                                   int channel) {
  return Start(file, kMediaOfFile, container, channel);
}

std::unique_ptr<MediaProcess> MediaProcess::OfStream(const std::string& container) {
  return Start(-1, kMediaOfStream, container, -1);
}

std::unique_ptr<MediaProcess> MediaProcess::Start(int file, const char* mode,
                                                  const std::string& container, int channel) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    FailWithErrno("cannot be given to media_decoder", errno);
  }
  FileDescriptor ours(ends[0]);
  const FileDescriptor theirs(ends[1]);
  const timeval max_silence = {kMaxSilenceS, 0};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    ::setsockopt(ours.get(), SOL_SOCKET, option, &max_silence, sizeof(max_silence));
  }
  const FileDescriptor file_copy = file < 0 ? FileDescriptor(-1) : Duplicate(file);
  const FileDescriptor socket_copy = Duplicate(theirs.get());
  const SpawnSettings settings(file_copy.get(), socket_copy.get());

  std::string program = FindProgram().string();
  std::vector<std::string> words = {program, mode, container, std::to_string(channel)};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* const environment[] = {nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), settings.actions(), settings.attributes(),
                                  arguments.data(), environment);
  if (error != 0)
    FailWithErrno("needs the program " + program + ", which cannot be started", error);
  return std::unique_ptr<MediaProcess>(new MediaProcess(pid, std::move(ours)));
}

template <typename Function>
auto MediaProcess::Guard(const Function& read) {
  try {
    return read();
  } catch (const MediaProcessGone&) {
    const std::optional<int> status = StatusOf(std::exchange(pid_, -1));
    FailAsBroken(status.has_value() ? Describe(*status) : "ended before the recording did");
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
    const ssize_t sent = ::send(replies_.socket(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    // A decoder that has gone leaves an end or an error, which the next Read finds.
    if (sent < 0) return;
    rest.remove_prefix(static_cast<size_t>(sent));
  }
}

size_t MediaProcess::Read(float* samples, size_t max_samples) {
  return Guard([&] { return replies_.Read(samples, max_samples); });
}

void MediaProcess::ReadFormat() {
  Guard([&] { replies_.ReadFormat(); });
}

}  // namespace runnel
