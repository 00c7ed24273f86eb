// Owning file descriptors, and what is done with them.
//
// This folder is the only one with calls that some operating system lacks. Its sources are in a
// folder per system: posix (Linux, macOS, Android) and windows. Paths are UTF-8 everywhere.
#ifndef RUNNEL_PLATFORM_FILE_DESCRIPTOR_H_
#define RUNNEL_PLATFORM_FILE_DESCRIPTOR_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace runnel {

// Closes its descriptor. Move-only.
class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  int get() const { return fd_; }
  // Throws std::system_error, with `what`, where closing fails.
  void Close(const char* what);

 private:
  int fd_;  // -1: none
};

// The functions below throw std::system_error, whose message says what the system refused; the
// caller adds the file's name. Programs that are started do not inherit the descriptors, and no
// byte is translated.

FileDescriptor OpenForReading(const std::string& path);
// An empty file, in the place of one that is there.
FileDescriptor OpenForWriting(const std::string& path);
FileDescriptor Duplicate(int fd);

// For reading and writing. It has no name, so nothing is left behind, however the process ends.
FileDescriptor TemporaryFile();
// The same, only in memory where the system has such files. It holds a copy of `bytes` and stands
// at its beginning.
FileDescriptor MemoryFile(std::string_view bytes);

// Reads `size` bytes, fewer only at the end of the input; returns their number.
size_t ReadFully(int fd, char* buffer, size_t size);
// Reads some bytes as soon as there are any; returns their number, 0 at the end of the input.
size_t ReadSome(int fd, char* buffer, size_t size);

// Reads as ReadSome does, from `offset` on. Returns -1 and sets errno where reading fails. Does
// not move the position.
int64_t ReadSomeAt(int fd, char* buffer, size_t size, off_t offset);
// The bytes from `offset` on, fewer than `size` at the end of the file or where reading fails. Does
// not move the position.
std::string ReadAt(int fd, off_t offset, size_t size);

// `file` is what the message of an error calls it.
void WriteFully(int fd, std::string_view bytes, const std::string& file);

// A temporary file that holds `start`, then everything still unread from `fd`, and stands at its
// beginning. More than `max_bytes` altogether are an error (EFBIG).
FileDescriptor SpoolToTemporaryFile(const std::string& start, int fd, uint64_t max_bytes);

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_FILE_DESCRIPTOR_H_
