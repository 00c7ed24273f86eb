#include "encoder/zip_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace runnel {
namespace {

constexpr uint64_t kEndSize = 22;            // end of central directory, without a comment
constexpr uint64_t kLocatorSize = 20;        // zip64 locator, just before it
constexpr uint64_t kZip64EndSize = 56;       // zip64 end of central directory
constexpr uint64_t kEntrySize = 46;          // directory entry without name, extra and comment
constexpr uint64_t kLocalSize = 30;          // local header without name and extra
constexpr uint64_t kDeflated = 8;            // method of compression; 0 is stored
constexpr uint64_t kFolder = 0x10;           // bit of the attributes; LibTorch reads no bytes then
constexpr uint64_t kMaxDeflateRatio = 1032;  // deflate's own bound
constexpr uint64_t kFieldIsZip64 = 0xFFFFFFFF;  // the value is in the zip64 extra field

[[noreturn]] void Fail(const std::string& what) { throw std::runtime_error(what); }

// Little-endian number of `size` bytes; the caller has checked that they are there.
uint64_t Number(const std::string& bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

bool StartsWith(const std::string& bytes, size_t at, const char (&signature)[5]) {
  return bytes.compare(at, 4, signature, 4) == 0;
}

// What a message can hold of the name of an entry.
std::string Printable(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return name;
}

// IEEE 802.3, bits reflected, as zip uses it.
class Crc32 {
 public:
  Crc32() {
    for (uint32_t i = 0; i < table_.size(); ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit)
        value = (value & 1U) ? 0xEDB88320U ^ value >> 1 : value >> 1;
      table_[i] = value;
    }
  }

  // Continues from `crc`, 0 at the start.
  uint32_t Update(uint32_t crc, const std::string& bytes) const {
    crc = ~crc;
    for (const char c : bytes) {
      crc = table_[(crc ^ static_cast<unsigned char>(c)) & 0xFFU] ^ crc >> 8;
    }
    return ~crc;
  }

 private:
  std::array<uint32_t, 256> table_{};
};

struct Directory {
  uint64_t offset, size, num_entries;
};

struct Entry {
  std::string name;  // printable
  uint64_t flags, method, crc, packed_size, size, offset;
};

class ZipFile {
 public:
  explicit ZipFile(std::istream* file) : file_(file) {
    file_->seekg(0, std::ios::end);
    size_ = static_cast<uint64_t>(file_->tellg());
  }

  void Check() {
    const Directory directory = FindDirectory();
    const std::string bytes = Read(directory.offset, directory.size, "the directory");
    size_t at = 0;
    for (uint64_t i = 0; i < directory.num_entries; ++i) {
      CheckEntry(NextEntry(bytes, &at), directory.offset);
    }
    if (at != bytes.size()) Fail("the directory is longer than its entries");
  }

 private:
  std::string Read(uint64_t offset, uint64_t size, const std::string& what) {
    if (offset > size_ || size > size_ - offset) Fail(what + " lies outside the file");
    std::string bytes(size, '\0');
    file_->clear();
    file_->seekg(static_cast<std::streamoff>(offset));
    file_->read(bytes.data(), static_cast<std::streamsize>(size));
    if (!*file_) Fail(what + " cannot be read");
    return bytes;
  }

  Directory FindDirectory() {
    const std::string name = "the end of the directory";
    if (size_ < kEndSize) Fail(name + " is missing");
    const std::string end = Read(size_ - kEndSize, kEndSize, name);
    if (!StartsWith(end, 0, "PK\x05\x06")) Fail(name + " is missing");
    Directory directory{Number(end, 16, 4), Number(end, 12, 4), Number(end, 10, 2)};
    uint64_t directory_end = size_ - kEndSize;
    if (size_ >= kEndSize + kLocatorSize) {
      const std::string locator = Read(directory_end - kLocatorSize, kLocatorSize, name);
      if (StartsWith(locator, 0, "PK\x06\x07")) {
        directory_end = Number(locator, 8, 8);
        const std::string zip64 = Read(directory_end, kZip64EndSize, name);
        if (!StartsWith(zip64, 0, "PK\x06\x06")) Fail(name + " is damaged");
        directory = {Number(zip64, 48, 8), Number(zip64, 40, 8), Number(zip64, 32, 8)};
      }
    }
    if (directory.offset > directory_end || directory.size != directory_end - directory.offset) {
      Fail("the directory is not where its end says");
    }
    return directory;
  }

  static Entry NextEntry(const std::string& bytes, size_t* at) {
    if (bytes.size() - *at < kEntrySize || !StartsWith(bytes, *at, "PK\x01\x02")) {
      Fail("the directory is damaged");
    }
    const size_t begin = *at;
    const size_t name_size = Number(bytes, begin + 28, 2);
    const size_t extra_size = Number(bytes, begin + 30, 2);
    const size_t entry_size = kEntrySize + name_size + extra_size + Number(bytes, begin + 32, 2);
    if (bytes.size() - begin < entry_size) Fail("the directory is damaged");
    *at += entry_size;
    Entry entry{Printable(bytes.substr(begin + kEntrySize, name_size)),
                Number(bytes, begin + 8, 2),
                Number(bytes, begin + 10, 2),
                Number(bytes, begin + 16, 4),
                Number(bytes, begin + 20, 4),
                Number(bytes, begin + 24, 4),
                Number(bytes, begin + 42, 4)};
    if ((Number(bytes, begin + 38, 4) & kFolder) != 0) Fail(entry.name + " is said to be a folder");
    ReadZip64Field(bytes.substr(begin + kEntrySize + name_size, extra_size), &entry);
    return entry;
  }

  // Sizes and offset too large for 32 bits, in this order, those only that are.
  static void ReadZip64Field(const std::string& extra, Entry* entry) {
    std::vector<uint64_t*> fields;
    for (uint64_t* field : {&entry->size, &entry->packed_size, &entry->offset}) {
      if (*field == kFieldIsZip64) fields.push_back(field);
    }
    for (size_t at = 0; !fields.empty();) {
      if (extra.size() - at < 4) Fail(entry->name + " has no 64-bit sizes");
      const size_t field_size = Number(extra, at + 2, 2);
      if (extra.size() - at - 4 < field_size) Fail(entry->name + " has a damaged header");
      if (Number(extra, at, 2) == 1) {
        if (field_size < 8 * fields.size()) Fail(entry->name + " has no 64-bit sizes");
        for (size_t i = 0; i < fields.size(); ++i) *fields[i] = Number(extra, at + 4 + 8 * i, 8);
        return;
      }
      at += 4 + field_size;
    }
  }

  void CheckEntry(const Entry& entry, uint64_t end) {
    const std::string local = Read(entry.offset, kLocalSize, entry.name);
    if (!StartsWith(local, 0, "PK\x03\x04") || Number(local, 6, 2) != entry.flags ||
        Number(local, 8, 2) != entry.method) {
      Fail(entry.name + " has a damaged header");
    }
    const uint64_t name_size = Number(local, 26, 2);
    if (Printable(Read(entry.offset + kLocalSize, name_size, entry.name)) != entry.name) {
      Fail(entry.name + " has another name in the directory");
    }
    uint64_t at = entry.offset + kLocalSize + name_size + Number(local, 28, 2);
    if (at > end || entry.packed_size > end - at) Fail(entry.name + " lies outside the file");
    const bool stored = entry.method == 0;
    if (!stored && entry.method != kDeflated) Fail(entry.name + " is packed in an unknown way");
    if (stored ? entry.size != entry.packed_size
               : entry.size / kMaxDeflateRatio > entry.packed_size) {
      Fail(entry.name + " has an impossible size");
    }
    if (!stored) return;
    uint32_t crc = 0;
    for (uint64_t left = entry.size; left > 0;) {
      const uint64_t count = std::min<uint64_t>(left, 1 << 20);
      crc = crc32_.Update(crc, Read(at, count, entry.name));
      at += count;
      left -= count;
    }
    if (crc != entry.crc) Fail(entry.name + " does not match its checksum");
  }

  std::istream* file_;
  uint64_t size_ = 0;
  Crc32 crc32_;
};

}  // namespace

void CheckZip(std::istream* file) { ZipFile(file).Check(); }

}  // namespace runnel
