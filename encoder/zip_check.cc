#include "encoder/zip_check.h"

#include <zip.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

namespace runnel {
namespace {

// Bit of an entry's attributes that makes it a folder: LibTorch allocates its size and reads
// nothing.
constexpr zip_uint32_t kFolderAttribute = 0x10;

// What a message can hold of the name of an entry.
std::string Printable(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return name;
}

struct ZipCloser {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

// Reads the entry to its end: libzip compares size and checksum there.
void CheckEntry(zip_t* archive, zip_uint64_t index, std::vector<char>* buffer) {
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0) {
    throw std::runtime_error(zip_strerror(archive));
  }
  const std::string entry = "entry " + Printable(stat.name);
  zip_uint8_t system = 0;
  zip_uint32_t attributes = 0;
  zip_file_get_external_attributes(archive, index, 0, &system, &attributes);
  if ((attributes & kFolderAttribute) != 0) {
    throw std::runtime_error(entry + " is marked as a folder");
  }
  const std::unique_ptr<zip_file_t, ZipCloser> file(zip_fopen_index(archive, index, 0));
  if (file == nullptr) throw std::runtime_error(entry + ": " + zip_strerror(archive));
  zip_int64_t read = 0;
  while ((read = zip_fread(file.get(), buffer->data(), buffer->size())) > 0) {
  }
  if (read < 0) throw std::runtime_error(entry + ": " + zip_file_strerror(file.get()));
}

}  // namespace

void CheckZip(const std::string& path) {
  int code = 0;
  const std::unique_ptr<zip_t, ZipCloser> archive(
      zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string message = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw std::runtime_error(message);
  }
  std::vector<char> buffer(1 << 16);
  const zip_int64_t num_entries = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < num_entries; ++i) {
    CheckEntry(archive.get(), static_cast<zip_uint64_t>(i), &buffer);
  }
}

}  // namespace runnel
