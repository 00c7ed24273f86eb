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
  bool folder;
};

// Every method throws std::runtime_error that says what is wrong, without the path. One thread at a
// time.
class ZipFile {
 public:
  // Compares the directory with the header before each entry. The sizes that entries claim are at
  // most those that the file has room for, unless they are compressed.
  explicit ZipFile(const std::string& path);

  uint64_t num_entries() const { return num_entries_; }
  ZipEntry Entry(uint64_t index) const;
  std::vector<std::string> EntryNames() const;

  // Read an entry to its end and compare its size and its checksum.
  // The text of an entry. Throws once the compressed entries that it has read have expanded to more
  // than any model's source text: a small file must not ask for any amount of memory.
  std::string ReadText(uint64_t index);
  // `num_bytes`: the size of the entry, which must not be compressed.
  void ReadInto(uint64_t index, void* memory, uint64_t num_bytes);
  // Every entry that none of the above has read: a damaged byte is found wherever it is.
  void CheckUnreadEntries();

 private:
  struct Closer {
    void operator()(zip* archive) const;
  };

  void CheckSizes(uint64_t file_size) const;
  // Gives the data of an entry to `block`, piece by piece.
  void ForEachBlock(uint64_t index,
                    const std::function<void(const char* data, size_t size)>& block);

  std::unique_ptr<zip, Closer> archive_;
  uint64_t num_entries_ = 0;
  uint64_t expanded_bytes_ = 0;  // by ReadText, of compressed entries
  std::vector<bool> is_read_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_ZIP_FILE_H_
