// A zip file that is read, through libzip. Internal to the encoder's readers of model archives.
#ifndef RUNNEL_ENCODER_ZIP_FILE_H_
#define RUNNEL_ENCODER_ZIP_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

struct zip;

namespace runnel {

// What the directory of a zip file says about an entry.
struct ZipEntry {
  std::string name;
  uint64_t size;  // expanded
  bool compressed;
  bool folder;

  // What a message can hold of the name.
  std::string PrintableName() const;
};

// Every method throws std::runtime_error saying what is wrong, without the path. One thread at a
// time.
class ZipFile {
 public:
  // consistent: also compares the directory with what stands before each entry.
  explicit ZipFile(const std::string& path, bool consistent = false);

  uint64_t num_entries() const;
  ZipEntry Entry(uint64_t index) const;

  // Reads an entry block by block to its end, where libzip compares size and checksum.
  void ForEachBlock(uint64_t index,
                    const std::function<void(const char* data, size_t size)>& block) const;

 private:
  struct Closer {
    void operator()(zip* archive) const;
  };
  std::unique_ptr<zip, Closer> archive_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ZIP_FILE_H_
