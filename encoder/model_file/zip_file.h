// Reads a zip file through libzip.
#ifndef RUNNEL_ENCODER_MODEL_FILE_ZIP_FILE_H_
#define RUNNEL_ENCODER_MODEL_FILE_ZIP_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct zip;

namespace runnel {

// An entry as the directory of a zip file describes it.
struct ZipEntry {
  std::string name;
  uint64_t size;  // bytes, expanded
  bool compressed;
  bool folder;

  // The name with every byte that is not printable ASCII replaced by '?', for messages.
  std::string PrintableName() const;
};

// Every method throws std::runtime_error that says what is wrong, without the path. One thread at a
// time.
class ZipFile {
 public:
  // Compares the directory with the header before each entry.
  explicit ZipFile(const std::string& path);

  uint64_t num_entries() const;
  ZipEntry Entry(uint64_t index) const;
  std::vector<std::string> EntryNames() const;

  // Reads the whole file and compares sizes and checksums. LibTorch does not: it would load a
  // damaged file with wrong weights, or allocate whatever the file asks for.
  void CheckEntries() const;

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

#endif  // RUNNEL_ENCODER_MODEL_FILE_ZIP_FILE_H_
