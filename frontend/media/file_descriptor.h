// Owning POSIX file descriptors. Private to AudioReader.
#ifndef RUNNEL_FRONTEND_MEDIA_FILE_DESCRIPTOR_H_
#define RUNNEL_FRONTEND_MEDIA_FILE_DESCRIPTOR_H_

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

 private:
  int fd_;  // -1: none
};

// The functions below throw std::system_error, whose message says what the system refused; the
// caller adds the file's name.

// Opens a file for reading; "-" is a duplicate of standard input.
FileDescriptor OpenForReading(const std::string& path);

// A file that is only in memory, holds a copy of `bytes` and stands at its beginning.
FileDescriptor MemoryFile(std::string_view bytes);

// Reads `size` bytes, fewer only at the end of the input; returns their number.
size_t ReadFully(int fd, char* buffer, size_t size);

// The bytes from `offset` on, fewer than `size` at the end of the file or where reading fails. Does
// not move the position.
std::string ReadAt(int fd, off_t offset, size_t size);

// A temporary file that holds `start`, then everything still unread from `fd`, and stands at its
// beginning. It has no name any more, so nothing is left behind, however the process ends. More
// than `max_bytes` altogether are an error (EFBIG).
FileDescriptor SpoolToTemporaryFile(const std::string& start, int fd, uint64_t max_bytes);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_FILE_DESCRIPTOR_H_
