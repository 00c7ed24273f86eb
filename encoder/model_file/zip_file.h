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
  uint64_t size;         // bytes, expanded
  uint64_t stored_size;  // bytes in the file
  bool compressed;
};

// The files of a zip file. Folders, and files that file managers add (.DS_Store, __MACOSX), are
// left out. Every method throws std::runtime_error that says what is wrong, without the path. One
// thread at a time.
class ZipFile {
 public:
  // Compares the directory with the header before each entry. The sizes that entries claim are at
  // most those that the file has room for, with a bound for compressed ones: a small file must not
  // ask for any amount of memory.
  explicit ZipFile(const std::string& path);

  uint64_t num_entries() const { return entries_.size(); }
  const ZipEntry& Entry(uint64_t index) const { return entries_.at(index); }
  std::vector<std::string> EntryNames() const;

  // Read an entry to its end and compare its size and its checksum.
  std::string ReadText(uint64_t index);
  // `num_bytes`: the size of the entry.
  void ReadInto(uint64_t index, void* memory, uint64_t num_bytes);
  // Every entry that none of the above has read: a damaged byte is found wherever it is.
  void CheckUnreadEntries();

 private:
  struct Closer {
    void operator()(zip* archive) const;
  };

  void ReadDirectory();
  void CheckSizes(uint64_t file_size) const;
  // Gives the data of an entry to `block`, piece by piece.
  void ForEachBlock(uint64_t index,
                    const std::function<void(const char* data, size_t size)>& block);

  std::unique_ptr<zip, Closer> archive_;
  std::vector<ZipEntry> entries_;
  std::vector<uint64_t> places_;  // of entries_, in the zip's directory
  std::vector<bool> is_read_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_ZIP_FILE_H_
