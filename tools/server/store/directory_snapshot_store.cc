#include "tools/server/store/directory_snapshot_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "tools/server/store/snapshot_token.h"

namespace runnel::server {
namespace {

using TimePoint = std::chrono::system_clock::time_point;

// A file that is being written is named <token>.<random token>.unfinished.
constexpr char kUnfinished[] = ".unfinished";
// The folder is scanned this often within a time to live, and at least every kLongestInterval.
constexpr int kScansPerTimeToLive = 4;
constexpr std::chrono::seconds kLongestInterval{10};
// The shortest interval between scans of a full folder, which every new stream asks for.
constexpr std::chrono::milliseconds kFullInterval{1000};
// The same when a new snapshot comes while the folder is more than half full.
constexpr std::chrono::milliseconds kFillingInterval{100};

// Closes a file when it goes out of scope.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const { return descriptor_; }
  // False on an error: some file systems report a full disk only here.
  bool Close() { return ::close(std::exchange(descriptor_, -1)) == 0; }

 private:
  int descriptor_;
};

bool WriteAll(int descriptor, const std::string& content) {
  for (size_t written = 0; written < content.size();) {
    const ssize_t count = ::write(descriptor, content.data() + written, content.size() - written);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) written += static_cast<size_t>(count);
  }
  return true;
}

bool ReadAll(int descriptor, std::string* content) {
  size_t size = 0;
  while (true) {
    content->resize(std::max<size_t>(2 * size, 1 << 16));
    const ssize_t count = ::read(descriptor, content->data() + size, content->size() - size);
    if (count < 0 && errno != EINTR) return false;
    if (count == 0) break;
    if (count > 0) size += static_cast<size_t>(count);
  }
  content->resize(size);
  return true;
}

timespec ToTimespec(TimePoint time) {
  const auto since_epoch = time.time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch - seconds);
  return {static_cast<time_t>(seconds.count()), static_cast<long>(rest.count())};
}

TimePoint ModificationTime(const struct stat& status) {
  return TimePoint(std::chrono::duration_cast<TimePoint::duration>(
      std::chrono::seconds(status.st_mtim.tv_sec) +
      std::chrono::nanoseconds(status.st_mtim.tv_nsec)));
}

constexpr mode_t kUnmarked = 0600;
constexpr mode_t kMarked = 0400;

struct FileState {
  bool exists = false;
  int64_t size = 0;
  bool is_marked = false;
};

// Of the path "": a file that does not exist.
FileState StateOf(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode)) return {true, 0, false};
  return {true, static_cast<int64_t>(status.st_size), (status.st_mode & S_IWUSR) == 0};
}

// True for names that a store gives. Other files of the folder are neither counted nor removed.
bool IsStoreName(const std::string& name) {
  const size_t end = name.find('.');
  const bool is_finished = end == std::string::npos;
  if (is_finished) return IsSnapshotToken(name);
  const size_t second_end = name.find('.', end + 1);
  return second_end != std::string::npos && name.substr(second_end) == kUnfinished &&
         IsSnapshotToken(name.substr(0, end)) &&
         IsSnapshotToken(name.substr(end + 1, second_end - end - 1));
}

bool IsFull(int error) { return error == ENOSPC || error == EDQUOT; }

}  // namespace

DirectorySnapshotStore::Clock DirectorySnapshotStore::UnsteppedClock() {
  using Steady = std::chrono::steady_clock;
  return [start = std::chrono::system_clock::now(), steady_start = Steady::now()] {
    return start + std::chrono::duration_cast<TimePoint::duration>(Steady::now() - steady_start);
  };
}

DirectorySnapshotStore::DirectorySnapshotStore(const std::string& folder,
                                               std::chrono::seconds time_to_live, int64_t max_bytes,
                                               Clock clock)
    : folder_(folder),
      time_to_live_(time_to_live),
      max_bytes_(max_bytes),
      clock_(std::move(clock)) {
  if (folder.empty()) throw std::invalid_argument("the snapshot folder's name is empty");
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) Fail("cannot create", errno);
  struct stat status = {};
  if (::stat(folder.c_str(), &status) != 0) Fail("cannot look into", errno);
  if (!S_ISDIR(status.st_mode)) Fail("cannot be used", ENOTDIR);
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    throw std::invalid_argument(Description() + " belongs to another user");
  }
  if ((status.st_mode & 07) != 0) {
    throw std::invalid_argument(Description() +
                                " is open to other users, who could take over streams, expected "
                                "one for its owner only (chmod 700)");
  }
  Check();
  Scan(kFullInterval);
}

void DirectorySnapshotStore::Put(const std::string& token, const std::string& snapshot,
                                 const SnapshotOrigin& origin) {
  if (!IsSnapshotToken(token)) throw std::invalid_argument("not a snapshot token");
  const std::string path = PathOf(token);
  RemoveExpired();
  // Another server may have filled the folder since the last scan.
  const auto size = static_cast<int64_t>(snapshot.size());
  if (num_bytes_ > max_bytes_ / 2 - size && !StateOf(path).exists) Scan(kFillingInterval);
  const std::string predecessor_path =
      IsSnapshotToken(origin.predecessor) ? PathOf(origin.predecessor) : "";
  if (TryPut(path, snapshot, predecessor_path)) return;
  Scan(kFullInterval);  // another server may have removed files
  if (TryPut(path, snapshot, predecessor_path)) return;
  throw SnapshotStoreFull(Description() + ": full, it holds " + std::to_string(num_bytes_) +
                          " bytes of " + std::to_string(max_bytes_));
}

bool DirectorySnapshotStore::TryPut(const std::string& path, const std::string& snapshot,
                                    const std::string& predecessor_path) {
  const std::shared_lock<std::shared_mutex> lock(folder_mutex_);
  const auto size = static_cast<int64_t>(snapshot.size());
  const FileState old = StateOf(path);
  const FileState predecessor = StateOf(predecessor_path);
  // The mark ends when the predecessor is gone.
  bool is_marked = old.is_marked && (predecessor_path.empty() || predecessor.exists);
  if (old.exists) {
    num_bytes_ += size;
  } else if (!ReserveBytes(size)) {
    if (!predecessor.exists || predecessor.is_marked) return false;
    num_bytes_ += size;
    is_marked = true;
  }
  const std::string unfinished = path + "." + NewSnapshotToken() + kUnfinished;
  try {
    WriteFile(unfinished, snapshot, is_marked);
    if (::rename(unfinished.c_str(), path.c_str()) != 0) Fail("cannot write", errno);
  } catch (const SnapshotStoreError&) {
    ::unlink(unfinished.c_str());
    num_bytes_ -= size;
    throw;
  }
  num_bytes_ -= old.size;
  // The predecessor may have been removed meanwhile; then there is nothing to mark.
  if (is_marked && !old.exists) ::chmod(predecessor_path.c_str(), kMarked);
  return true;
}

bool DirectorySnapshotStore::ReserveBytes(int64_t num_bytes) {
  if (num_bytes <= max_bytes_ - num_bytes_.fetch_add(num_bytes)) return true;
  num_bytes_ -= num_bytes;
  return false;
}

std::optional<std::string> DirectorySnapshotStore::Get(const std::string& token) {
  if (!IsSnapshotToken(token)) return std::nullopt;
  RemoveExpired();
  // Does not follow a link and does not wait for a pipe.
  File file(::open(PathOf(token).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.descriptor() < 0) {
    const int error = errno;
    if (error != ENOENT) Fail("cannot read", error);
    Check();  // a missing snapshot is not an error, a missing folder is
    return std::nullopt;
  }
  struct stat status = {};
  if (::fstat(file.descriptor(), &status) != 0) Fail("cannot read", errno);
  if (!S_ISREG(status.st_mode) || clock_() >= ModificationTime(status) + time_to_live_) {
    return std::nullopt;
  }
  std::string snapshot;
  if (!ReadAll(file.descriptor(), &snapshot)) Fail("cannot read", errno);
  return snapshot;
}

void DirectorySnapshotStore::Remove(const std::string& token) {
  if (!IsSnapshotToken(token)) return;
  const std::string path = PathOf(token);
  const std::shared_lock<std::shared_mutex> lock(folder_mutex_);
  const FileState old = StateOf(path);
  if (::unlink(path.c_str()) == 0) {
    num_bytes_ -= old.size;
  } else if (errno != ENOENT) {
    Fail("cannot remove", errno);
  }
}

void DirectorySnapshotStore::Check() {
  if (::faccessat(AT_FDCWD, folder_.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    Fail("cannot be used", errno);
  }
}

std::string DirectorySnapshotStore::Description() const { return "snapshot folder " + folder_; }

void DirectorySnapshotStore::Fail(const std::string& what, int error) const {
  const std::string message = Description() + ": " + what + ": " + std::strerror(error);
  if (IsFull(error)) throw SnapshotStoreFull(message);
  throw SnapshotStoreError(message);
}

std::string DirectorySnapshotStore::PathOf(const std::string& token) const {
  return folder_ + "/" + token;
}

void DirectorySnapshotStore::WriteFile(const std::string& path, const std::string& content,
                                       bool is_marked) const {
  File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                   is_marked ? kMarked : kUnmarked));
  if (file.descriptor() < 0) Fail("cannot write", errno);
  if (!WriteAll(file.descriptor(), content)) Fail("cannot write", errno);
  const timespec now = ToTimespec(clock_());
  const timespec times[] = {now, now};
  if (::futimens(file.descriptor(), times) != 0) Fail("cannot write", errno);
  if (!file.Close()) Fail("cannot write", errno);
}

void DirectorySnapshotStore::RemoveExpired() {
  Scan(std::min<std::chrono::system_clock::duration>(time_to_live_,
                                                     kScansPerTimeToLive * kLongestInterval) /
       kScansPerTimeToLive);
}

void DirectorySnapshotStore::Scan(std::chrono::system_clock::duration interval) {
  const TimePoint now = clock_();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (now < last_scan_ + interval && now >= last_scan_) return;
    last_scan_ = now;
  }
  const std::lock_guard<std::shared_mutex> lock(folder_mutex_);
  int64_t num_bytes = 0;
  // Other servers may remove the same files at the same time. An error that lasts is reported by
  // the next Put or Get.
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(folder_, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    struct stat status = {};
    if (!IsStoreName(entry->path().filename().string()) || ::lstat(path.c_str(), &status) != 0) {
      continue;
    }
    const TimePoint stored = ModificationTime(status);
    if (stored > now) {
      const timespec times[] = {ToTimespec(now), ToTimespec(now)};
      ::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW);
    }
    if (now < stored + time_to_live_ || ::unlink(path.c_str()) != 0) {
      num_bytes += S_ISREG(status.st_mode) ? static_cast<int64_t>(status.st_size) : 0;
    }
  }
  num_bytes_ = num_bytes;
}

}  // namespace runnel::server
