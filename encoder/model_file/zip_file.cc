#include "encoder/model_file/zip_file.h"

#include <zip.h>

#include <array>
#include <filesystem>
#include <stdexcept>

#include "encoder/model_file/printable_name.h"

namespace runnel {
namespace {

// Bit of an entry's attributes that makes it a folder.
constexpr zip_uint32_t kFolderAttribute = 0x10;
// Far more than the source text of a model, expanded.
constexpr uint64_t kMostExpandedBytes = uint64_t{1} << 24;

struct FileCloser {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using FilePointer = std::unique_ptr<zip_file_t, FileCloser>;

[[noreturn]] void Fail(const std::string& entry, const std::string& problem) {
  throw std::runtime_error("entry " + PrintableName(entry) + problem);
}

FilePointer Open(zip* archive, uint64_t index, const std::string& entry) {
  FilePointer file(zip_fopen_index(archive, index, 0));
  if (file == nullptr) Fail(entry, std::string(": ") + zip_strerror(archive));
  return file;
}

// How many bytes were read; 0 at the end of the entry, where libzip compares the checksum.
uint64_t ReadSome(zip_file_t* file, void* memory, uint64_t num_bytes, const std::string& entry) {
  const zip_int64_t read = zip_fread(file, memory, num_bytes);
  if (read < 0) Fail(entry, std::string(": ") + zip_file_strerror(file));
  return static_cast<uint64_t>(read);
}

}  // namespace

void ZipFile::Closer::operator()(zip* archive) const { zip_discard(archive); }

ZipFile::ZipFile(const std::string& path) {
  int code = 0;
  archive_.reset(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (archive_ == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string message = zip_error_strerror(&error);
    zip_error_fini(&error);
    // libzip's words for it are "Not a zip archive".
    throw std::runtime_error(code == ZIP_ER_NOZIP ? "no zip directory at their end" : message);
  }
  num_entries_ = static_cast<uint64_t>(zip_get_num_entries(archive_.get(), 0));
  is_read_.resize(num_entries_, false);
  CheckSizes(std::filesystem::file_size(std::filesystem::u8path(path)));
}

ZipEntry ZipFile::Entry(uint64_t index) const {
  zip_stat_t stat;
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if (zip_stat_index(archive_.get(), index, 0, &stat) != 0) {
    throw std::runtime_error(zip_strerror(archive_.get()));
  }
  if ((stat.valid & kNeeded) != kNeeded) throw std::runtime_error("holds an entry without a size");
  zip_uint8_t system = 0;
  zip_uint32_t attributes = 0;
  zip_file_get_external_attributes(archive_.get(), index, 0, &system, &attributes);
  return {stat.name, stat.size, stat.comp_size, stat.comp_method != ZIP_CM_STORE,
          (attributes & kFolderAttribute) != 0};
}

std::vector<std::string> ZipFile::EntryNames() const {
  std::vector<std::string> names;
  for (uint64_t i = 0; i < num_entries_; ++i) names.push_back(Entry(i).name);
  return names;
}

// Entries that share bytes would expand a small file without compression.
void ZipFile::CheckSizes(uint64_t file_size) const {
  uint64_t left = file_size;
  for (uint64_t i = 0; i < num_entries_; ++i) {
    const ZipEntry entry = Entry(i);
    if (entry.folder) Fail(entry.name, " is marked as a folder");
    if (!entry.compressed && entry.size != entry.stored_size) Fail(entry.name, " has two sizes");
    if (entry.stored_size > left) Fail(entry.name, " has more bytes than the file has left");
    left -= entry.stored_size;
  }
}

std::string ZipFile::ReadText(uint64_t index) {
  const ZipEntry entry = Entry(index);
  if (entry.compressed) {
    if (entry.size > kMostExpandedBytes - expanded_bytes_) {
      throw std::runtime_error("holds a compressed entry of " + std::to_string(entry.size) +
                               " bytes, expected tensors stored as they are");
    }
    expanded_bytes_ += entry.size;
  }
  std::string text;
  text.reserve(entry.size);
  // libzip does not compare the size of a compressed entry with its data.
  ForEachBlock(index, [&](const char* data, size_t size) {
    if (size > entry.size - text.size()) Fail(entry.name, " has two sizes");
    text.append(data, size);
  });
  if (text.size() != entry.size) Fail(entry.name, " has two sizes");
  return text;
}

void ZipFile::ReadInto(uint64_t index, void* memory, uint64_t num_bytes) {
  const ZipEntry entry = Entry(index);
  if (entry.compressed) Fail(entry.name, " is compressed, expected tensors stored as they are");
  if (entry.size != num_bytes) {
    Fail(entry.name,
         " has " + std::to_string(entry.size) + " bytes, expected " + std::to_string(num_bytes));
  }
  const FilePointer file = Open(archive_.get(), index, entry.name);
  auto* next = static_cast<std::byte*>(memory);
  uint64_t left = num_bytes;
  while (left > 0) {
    const uint64_t read = ReadSome(file.get(), next, left, entry.name);
    if (read == 0) Fail(entry.name, " is truncated");
    next += read;
    left -= read;
  }
  std::byte behind_the_end{};
  if (ReadSome(file.get(), &behind_the_end, 1, entry.name) != 0) Fail(entry.name, " has two sizes");
  is_read_[index] = true;
}

void ZipFile::CheckUnreadEntries() {
  for (uint64_t i = 0; i < num_entries_; ++i) {
    if (!is_read_[i]) ForEachBlock(i, [](const char* /*data*/, size_t /*size*/) {});
  }
}

void ZipFile::ForEachBlock(uint64_t index,
                           const std::function<void(const char* data, size_t size)>& block) {
  const std::string name = Entry(index).name;
  const FilePointer file = Open(archive_.get(), index, name);
  std::array<char, 1 << 16> buffer;
  while (const uint64_t read = ReadSome(file.get(), buffer.data(), buffer.size(), name)) {
    block(buffer.data(), static_cast<size_t>(read));
  }
  is_read_[index] = true;
}

}  // namespace runnel
