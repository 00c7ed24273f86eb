#include "encoder/model_file/stripped_archive.h"

#include <zip.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "encoder/model_file/affixes.h"

namespace runnel {
namespace {

// Far more than the source text of a model, expanded.
constexpr uint64_t kMaxCompressedSize = uint64_t{1} << 24;

struct WriterCloser {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using WriterPointer = std::unique_ptr<zip_t, WriterCloser>;
using SourcePointer = std::unique_ptr<zip_source_t, WriterCloser>;

std::string ReadEntry(const ZipFile& file, uint64_t index) {
  const ZipEntry entry = file.Entry(index);
  // PyTorch compresses source text only; a small file must not ask for any amount of memory.
  if (entry.compressed && entry.size > kMaxCompressedSize) {
    throw std::runtime_error("holds a compressed entry of " + std::to_string(entry.size) +
                             " bytes, expected tensors stored as they are");
  }
  std::string data;
  data.reserve(entry.size);
  file.ForEachBlock(index, [&data](const char* block, size_t size) { data.append(block, size); });
  return data;
}

// The bytes of a zip_source_t in memory, after the archive on it was written.
std::string Bytes(zip_source_t* source) {
  zip_stat_t stat;
  if (zip_source_open(source) != 0 || zip_source_stat(source, &stat) != 0) {
    throw std::runtime_error("cannot be rewritten in memory");
  }
  std::string bytes(stat.size, '\0');
  const zip_int64_t read = zip_source_read(source, bytes.data(), bytes.size());
  zip_source_close(source);
  if (read != static_cast<zip_int64_t>(bytes.size())) {
    throw std::runtime_error("cannot be rewritten in memory");
  }
  return bytes;
}

}  // namespace

std::string WithoutMethods(const std::string& code) {
  std::istringstream lines(code);
  std::string kept;
  size_t method_indent = std::string::npos;  // of the definition that is being left out
  for (std::string line; std::getline(lines, line);) {
    const size_t indent = line.find_first_not_of(' ');
    if (method_indent != std::string::npos) {
      if (indent == std::string::npos || indent > method_indent) continue;
      method_indent = std::string::npos;
    }
    if (indent != std::string::npos && line.compare(indent, 4, "def ") == 0) {
      method_indent = indent;
      continue;
    }
    kept.append(line).append("\n");
  }
  return kept;
}

std::string StrippedArchive(const ZipFile& original) {
  std::list<std::string> contents;  // libzip reads them when the archive is closed
  const SourcePointer memory(zip_source_buffer_create(nullptr, 0, 0, nullptr));
  if (memory == nullptr) throw std::runtime_error("cannot be rewritten in memory");
  WriterPointer stripped(zip_open_from_source(memory.get(), ZIP_TRUNCATE, nullptr));
  if (stripped == nullptr) throw std::runtime_error("cannot be rewritten in memory");
  zip_source_keep(memory.get());  // zip_close gives up one reference
  for (uint64_t i = 0; i < original.num_entries(); ++i) {
    const std::string name = original.Entry(i).name;
    // Line numbers of the code that is left out, and files that only people read.
    if (EndsWith(name, ".debug_pkl") || name.find("/extra/") != std::string::npos) continue;
    std::string data = ReadEntry(original, i);
    if (EndsWith(name, ".py")) data = WithoutMethods(data);
    contents.push_back(std::move(data));
    zip_source_t* source =
        zip_source_buffer(stripped.get(), contents.back().data(), contents.back().size(), 0);
    const zip_int64_t added =
        source == nullptr ? -1 : zip_file_add(stripped.get(), name.c_str(), source, 0);
    // LibTorch reads stored entries only.
    if (added < 0 || zip_set_file_compression(stripped.get(), static_cast<zip_uint64_t>(added),
                                              ZIP_CM_STORE, 0) != 0) {
      throw std::runtime_error("cannot be rewritten in memory");
    }
  }
  if (zip_close(stripped.get()) != 0) throw std::runtime_error("cannot be rewritten in memory");
  static_cast<void>(stripped.release());  // zip_close has freed it
  return Bytes(memory.get());
}

}  // namespace runnel
