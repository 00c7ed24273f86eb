#include "encoder/model_file/zip_file.h"

#include <zip.h>

#include <array>
#include <stdexcept>

namespace runnel {
namespace {

// Bit of an entry's attributes that makes it a folder.
constexpr zip_uint32_t kFolderAttribute = 0x10;

struct FileCloser {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

}  // namespace

std::string ZipEntry::PrintableName() const {
  std::string printable = name;
  std::replace_if(
      printable.begin(), printable.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return printable;
}

void ZipFile::Closer::operator()(zip* archive) const { zip_discard(archive); }

ZipFile::ZipFile(const std::string& path) {
  int code = 0;
  archive_.reset(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (archive_ != nullptr) return;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string message = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw std::runtime_error(message);
}

uint64_t ZipFile::num_entries() const {
  return static_cast<uint64_t>(zip_get_num_entries(archive_.get(), 0));
}

ZipEntry ZipFile::Entry(uint64_t index) const {
  zip_stat_t stat;
  if (zip_stat_index(archive_.get(), index, 0, &stat) != 0) {
    throw std::runtime_error(zip_strerror(archive_.get()));
  }
  zip_uint8_t system = 0;
  zip_uint32_t attributes = 0;
  zip_file_get_external_attributes(archive_.get(), index, 0, &system, &attributes);
  return {stat.name, stat.size, stat.comp_method != ZIP_CM_STORE,
          (attributes & kFolderAttribute) != 0};
}

std::vector<std::string> ZipFile::EntryNames() const {
  std::vector<std::string> names;
  for (uint64_t i = 0; i < num_entries(); ++i) names.push_back(Entry(i).name);
  return names;
}

void ZipFile::CheckEntries() const {
  for (uint64_t i = 0; i < num_entries(); ++i) {
    const ZipEntry entry = Entry(i);
    // LibTorch allocates the size of a folder and reads nothing.
    if (entry.folder) {
      throw std::runtime_error("entry " + entry.PrintableName() + " is marked as a folder");
    }
    ForEachBlock(i, [](const char* /*data*/, size_t /*size*/) {});
  }
}

void ZipFile::ForEachBlock(uint64_t index,
                           const std::function<void(const char* data, size_t size)>& block) const {
  const auto fail = [&](const char* reason) {
    throw std::runtime_error("entry " + Entry(index).PrintableName() + ": " + reason);
  };
  const std::unique_ptr<zip_file_t, FileCloser> file(zip_fopen_index(archive_.get(), index, 0));
  if (file == nullptr) fail(zip_strerror(archive_.get()));
  std::array<char, 1 << 16> buffer;
  zip_int64_t read = 0;
  while ((read = zip_fread(file.get(), buffer.data(), buffer.size())) > 0) {
    block(buffer.data(), static_cast<size_t>(read));
  }
  if (read < 0) fail(zip_file_strerror(file.get()));
}

}  // namespace runnel
