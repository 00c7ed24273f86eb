#include "encoder/model_file/zip_file.h"

#include <zip.h>

#include <array>
#include <filesystem>
#include <stdexcept>

#include "encoder/model_file/affixes.h"
#include "encoder/model_file/printable_name.h"

namespace runnel {
namespace {

// Bit of an entry's attributes that makes it a folder.
constexpr zip_uint32_t kFolderAttribute = 0x10;
// Compressed entries may have this many times the bytes of the file, and a little more for the
// texts of a small one.
constexpr uint64_t kMostExpansion = 16;
constexpr uint64_t kFreeBytes = uint64_t{1} << 24;

struct FileCloser {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using FilePointer = std::unique_ptr<zip_file_t, FileCloser>;

[[noreturn]] void Fail(const std::string& entry, const std::string& problem) {
  throw std::runtime_error("entry " + PrintableName(entry) + problem);
}

bool IsFolder(const std::string& name) { return EndsWith(name, "/"); }

bool IsOfFileManager(const std::string& name) {
  const std::string file = name.substr(name.rfind('/') + 1);
  return StartsWith(name, "__MACOSX/") || StartsWith(file, "._") || file == ".DS_Store";
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
  ReadDirectory();
  is_read_.resize(entries_.size(), false);
  CheckSizes(std::filesystem::file_size(std::filesystem::u8path(path)));
}

void ZipFile::ReadDirectory() {
  const auto count = static_cast<uint64_t>(zip_get_num_entries(archive_.get(), 0));
  for (uint64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    constexpr zip_uint64_t kNeeded =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(archive_.get(), i, 0, &stat) != 0) {
      throw std::runtime_error(zip_strerror(archive_.get()));
    }
    if ((stat.valid & kNeeded) != kNeeded) {
      throw std::runtime_error("holds an entry without a size");
    }
    const ZipEntry entry = {stat.name, stat.size, stat.comp_size, stat.comp_method != ZIP_CM_STORE};
    if (IsFolder(entry.name) && entry.size == 0) continue;
    if (IsOfFileManager(entry.name)) continue;
    zip_uint8_t system = 0;
    zip_uint32_t attributes = 0;
    zip_file_get_external_attributes(archive_.get(), i, 0, &system, &attributes);
    if (IsFolder(entry.name) || (attributes & kFolderAttribute) != 0) {
      Fail(entry.name, " is marked as a folder");
    }
    entries_.push_back(entry);
    places_.push_back(i);
  }
}

std::vector<std::string> ZipFile::EntryNames() const {
  std::vector<std::string> names;
  for (const ZipEntry& entry : entries_) names.push_back(entry.name);
  return names;
}

// Entries that share bytes would expand a small file without compression.
void ZipFile::CheckSizes(uint64_t file_size) const {
  uint64_t left = file_size;
  uint64_t left_expanded = kMostExpansion * file_size + kFreeBytes;
  for (const ZipEntry& entry : entries_) {
    if (!entry.compressed && entry.size != entry.stored_size) Fail(entry.name, " has two sizes");
    if (entry.stored_size > left) Fail(entry.name, " has more bytes than the file has left");
    left -= entry.stored_size;
    if (entry.size > left_expanded) {
      Fail(entry.name, " expands to " + std::to_string(entry.size) + " bytes, expected at most " +
                           std::to_string(kMostExpansion) + " times the size of the file");
    }
    left_expanded -= entry.size;
  }
}

std::string ZipFile::ReadText(uint64_t index) {
  const ZipEntry& entry = Entry(index);
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
  const ZipEntry& entry = Entry(index);
  if (entry.size != num_bytes) {
    Fail(entry.name,
         " has " + std::to_string(entry.size) + " bytes, expected " + std::to_string(num_bytes));
  }
  const FilePointer file = Open(archive_.get(), places_[index], entry.name);
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
  for (uint64_t i = 0; i < num_entries(); ++i) {
    if (!is_read_[i]) ForEachBlock(i, [](const char* /*data*/, size_t /*size*/) {});
  }
}

void ZipFile::ForEachBlock(uint64_t index,
                           const std::function<void(const char* data, size_t size)>& block) {
  const std::string& name = Entry(index).name;
  const FilePointer file = Open(archive_.get(), places_[index], name);
  std::array<char, 1 << 16> buffer;
  while (const uint64_t read = ReadSome(file.get(), buffer.data(), buffer.size(), name)) {
    block(buffer.data(), static_cast<size_t>(read));
  }
  is_read_[index] = true;
}

}  // namespace runnel
