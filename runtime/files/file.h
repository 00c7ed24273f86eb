// Reads, maps and writes files.
#ifndef RUNNEL_RUNTIME_FILES_FILE_H_
#define RUNNEL_RUNTIME_FILES_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "platform/file_descriptor.h"
#include "runtime/files/mapped_bytes.h"

namespace runnel {

// A file that is open for reading. Every method throws std::runtime_error "path: what failed:
// reason". One thread at a time.
class File {
 public:
  explicit File(const std::string& path);

  bool is_pipe() const { return is_pipe_; }  // a pipe or a device
  uint64_t size() const { return size_; }    // bytes; 0 of a pipe

  // Reads up to `count` bytes. Returns their number; 0 at the end.
  size_t Read(char* buffer, size_t count) const;

  // All bytes of a file that is not empty and no pipe, shared with other processes. The file may be
  // closed afterwards.
  MappedBytes Map() const;

 private:
  std::string path_;
  FileDescriptor file_;
  bool is_pipe_;
  uint64_t size_;
};

// Writes the parts one after the other. The file at `path`, or where a link there leads, is
// replaced when all is written. Throws std::runtime_error as File does.
void SaveFile(const std::string& path, const std::vector<std::string_view>& parts);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_FILES_FILE_H_
