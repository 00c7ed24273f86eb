#include "runtime/language_model.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/ngram/arpa_compiler.h"
#include "runtime/ngram/checksum.h"
#include "runtime/ngram/image_bytes.h"
#include "runtime/ngram/image_check.h"
#include "runtime/ngram/image_format.h"
#include "runtime/ngram/line_reader.h"
#include "runtime/ngram/ngram_model.h"
#include "runtime/text/require_range.h"

namespace runnel {
namespace {

[[noreturn]] void Fail(const std::string& path, const std::string& what, int error) {
  throw std::runtime_error(path + ": " + what + ": " + std::strerror(error));
}

// Closes its descriptor.
class File {
 public:
  File(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return fd_; }

  // Returns 0 or the error.
  int Close() {
    const int result = ::close(fd_);
    fd_ = -1;
    return result == 0 ? 0 : errno;
  }

 private:
  int fd_;  // -1: not opened
};

size_t ReadSome(int fd, char* buffer, size_t size, const std::string& path) {
  while (true) {
    const ssize_t count = ::read(fd, buffer, size);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) Fail(path, "cannot read", errno);
  }
}

// Returns 0 or the error.
int WriteAll(int fd, const unsigned char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t count = ::write(fd, bytes, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes += count;
    size -= static_cast<size_t>(count);
  }
  return 0;
}

// The file that `path` stands for; a link is followed.
std::string TargetOf(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return path;
  if (!std::filesystem::is_regular_file(status)) {
    throw std::runtime_error(path + ": cannot write: not a regular file");
  }
  if (!std::filesystem::is_symlink(path, error)) return path;
  return std::filesystem::canonical(path, error).string();
}

ImageBytes MapImage(const File& file, const struct stat& status, const std::string& path) {
  if (!S_ISREG(status.st_mode)) {
    throw std::runtime_error(path + ": is a compiled model in a pipe; expected a regular file");
  }
  try {
    return ImageBytes::Map(file.get(), static_cast<size_t>(status.st_size));
  } catch (const std::system_error& error) {
    Fail(path, "cannot map", error.code().value());
  }
}

ImageBytes ReadImage(const std::string& path, const LanguageModel::Progress& progress) {
  const File file(path, O_RDONLY);
  struct stat status = {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) Fail(path, "cannot open", errno);
  const uint64_t size = S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
  LineReader lines(
      [&](char* buffer, size_t count) { return ReadSome(file.get(), buffer, count, path); }, size,
      path);
  if (HasImageMagic(lines.Peek(kImageMagic.size()))) return MapImage(file, status, path);
  return CompileArpa(&lines, progress);
}

}  // namespace

std::shared_ptr<const LanguageModel> LanguageModel::Load(const std::string& path,
                                                         const Progress& progress) {
  return std::make_shared<const LanguageModel>(
      std::make_unique<const NgramModel>(ReadImage(path, progress), path));
}

LanguageModel::LanguageModel(std::unique_ptr<const NgramModel> ngrams)
    : ngrams_(std::move(ngrams)), fingerprint_(FingerprintOf(ngrams_->image().data())) {}

LanguageModel::~LanguageModel() = default;

void LanguageModel::Save(const std::string& path) const {
  const std::string target = TargetOf(path);
  const std::string unfinished = target + "." + std::to_string(::getpid()) + ".unfinished";
  int error = 0;
  {
    File file(unfinished, O_WRONLY | O_CREAT | O_TRUNC);
    if (file.get() < 0) Fail(path, "cannot create", errno);
    error = WriteAll(file.get(), ngrams_->image().data(), ngrams_->image().size());
    if (error == 0) error = file.Close();
  }
  if (error == 0 && ::rename(unfinished.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(unfinished.c_str());
  Fail(path, "cannot write", error);
}

int LanguageModel::order() const { return ngrams_->order(); }

int64_t LanguageModel::num_ngrams() const {
  int64_t total = 0;
  for (int length = 1; length <= order(); ++length) total += ngrams_->num_ngrams(length);
  return total;
}

int64_t LanguageModel::num_ngrams(int length) const { return ngrams_->num_ngrams(length); }

size_t LanguageModel::size() const { return ngrams_->image().size(); }

void LanguageModelOptions::Validate() const {
  if (level != LanguageModelLevel::kWord && level != LanguageModelLevel::kToken) {
    throw std::invalid_argument("level of the language model must be kWord or kToken, got " +
                                std::to_string(static_cast<int>(level)));
  }
  RequireInRange("weight", weight, 0, kMaxWeight);
  RequireInRange("bonus", bonus, -kMaxBonus, kMaxBonus);
}

}  // namespace runnel
