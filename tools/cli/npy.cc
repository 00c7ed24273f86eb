#include "tools/cli/npy.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace runnel {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "values are written as they lie in memory");

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6;
// Size of the whole header: magic, version 1.0, length, dictionary with any two 64-bit sizes.
constexpr size_t kHeaderSize = 128;
constexpr size_t kPrefixSize = kMagicSize + 4;
constexpr size_t kMaxHeaderSize = 1 << 20;
constexpr int64_t kMaxColumns = 1 << 24;
constexpr size_t kValuesPerBlock = 1 << 15;

}  // namespace

NpyWriter::NpyWriter(const std::string& path, int64_t num_columns, NpyType type)
    : path_(path), num_columns_(num_columns), type_(type) {
  file_.open(std::filesystem::u8path(path_), std::ios::binary | std::ios::trunc);
  if (!file_) throw std::runtime_error(path_ + ": cannot create: " + std::strerror(errno));
  WriteHeader();
}

NpyWriter::~NpyWriter() {
  if (closed_) return;
  file_.close();
  std::error_code ignored;  // a destructor cannot report it
  const std::filesystem::path path = std::filesystem::u8path(path_);
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
}

void NpyWriter::WriteHeader() {
  std::string header(kMagic, kMagicSize);
  header += {'\x01', '\x00', static_cast<char>(kHeaderSize - kPrefixSize), '\x00'};
  header += "{'descr': '";
  header += type_ == NpyType::kFloat32 ? "<f4" : "<f8";
  header += "', 'fortran_order': False, 'shape': (" + std::to_string(num_rows_) + ", " +
            std::to_string(num_columns_) + "), }";
  header.resize(kHeaderSize - 1, ' ');
  header += '\n';
  file_.write(header.data(), static_cast<std::streamsize>(header.size()));
  CheckWritten();
}

void NpyWriter::CheckWritten() {
  if (!file_) throw std::runtime_error(path_ + ": cannot write: " + std::strerror(errno));
}

void NpyWriter::Append(const float* rows, int64_t num_rows) {
  AppendBytes(rows, num_rows, NpyType::kFloat32, sizeof(float));
}

void NpyWriter::Append(const double* rows, int64_t num_rows) {
  AppendBytes(rows, num_rows, NpyType::kFloat64, sizeof(double));
}

void NpyWriter::AppendBytes(const void* rows, int64_t num_rows, NpyType type, size_t value_size) {
  if (type != type_) throw std::logic_error(path_ + ": appended values are not of the file's type");
  file_.write(
      static_cast<const char*>(rows),
      static_cast<std::streamsize>(static_cast<size_t>(num_rows * num_columns_) * value_size));
  CheckWritten();
  num_rows_ += num_rows;
}

void NpyWriter::Close() {
  file_.flush();
  CheckWritten();
  file_.seekp(0);
  CheckWritten();
  WriteHeader();
  file_.close();
  CheckWritten();
  closed_ = true;
}

NpyReader::NpyReader(const std::string& path)
    : path_(path), file_(std::filesystem::u8path(path), std::ios::binary) {
  if (!file_) throw std::runtime_error(path_ + ": cannot open: " + std::strerror(errno));
  std::error_code ignored;  // the file is open, so it exists
  if (std::filesystem::is_directory(std::filesystem::u8path(path_), ignored))
    Fail("is a directory, expected a file");
  char prefix[kMagicSize + 2];
  if (!file_.read(prefix, sizeof(prefix)) || std::memcmp(prefix, kMagic, kMagicSize) != 0) {
    Fail("is not a NumPy .npy file");
  }
  const int version = static_cast<unsigned char>(prefix[kMagicSize]);
  if (version < 1 || version > 3) {
    Fail("format version " + std::to_string(version) + ", expected 1, 2 or 3");
  }
  const size_t length_size = version == 1 ? 2 : 4;
  unsigned char length_bytes[4] = {};
  if (!file_.read(reinterpret_cast<char*>(length_bytes),
                  static_cast<std::streamsize>(length_size))) {
    Fail("ends inside the header");
  }
  size_t length = 0;
  for (size_t i = 0; i < length_size; ++i)
    length |= static_cast<size_t>(length_bytes[i]) << (8 * i);
  if (length > kMaxHeaderSize) Fail("header of " + std::to_string(length) + " bytes");
  std::string header(length, '\0');
  if (!file_.read(header.data(), static_cast<std::streamsize>(length))) {
    Fail("ends inside the header");
  }
  ParseHeader(header);
  data_begin_ = static_cast<std::streamoff>(sizeof(prefix) + length_size + length);
  CheckSize();
}

void NpyReader::CheckSize() const {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(std::filesystem::u8path(path_), error);
  if (error) {  // such as a pipe
    if (is_fortran_) Fail("is in Fortran order, expected a file that seeks");
    return;
  }
  const auto num_rows = (static_cast<int64_t>(size) - data_begin_) / (num_columns_ * value_size());
  if (num_rows < num_rows_) {
    Fail("ends before row " + std::to_string(num_rows + 1) + " of " + std::to_string(num_rows_));
  }
}

// The dictionary is a Python literal; numpy.save writes its keys in this form.
void NpyReader::ParseHeader(const std::string& header) {
  std::smatch match;
  if (!std::regex_search(header, match, std::regex("'descr': *'([^']*)'"))) {
    Fail("header without a plain 'descr', expected a matrix of '<f4' or '<f8'");
  }
  if (match[1] == "<f4") {
    type_ = NpyType::kFloat32;
  } else if (match[1] == "<f8") {
    type_ = NpyType::kFloat64;
  } else {
    Fail("values of type '" + match[1].str() + "', expected '<f4' or '<f8'");
  }
  if (!std::regex_search(header, match, std::regex("'fortran_order': *(True|False)"))) {
    Fail("header without 'fortran_order', expected True or False");
  }
  is_fortran_ = match[1] == "True";
  if (!std::regex_search(header, match, std::regex("'shape': *\\(([^)]*)\\)"))) {
    Fail("header without 'shape'");
  }
  const std::string shape = match[1];
  if (!std::regex_match(shape, match, std::regex(" *([0-9]{1,18}), *([0-9]{1,18}),? *"))) {
    Fail("shape (" + shape + "), expected a matrix (rows, columns)");
  }
  num_rows_ = std::stoll(match[1]);
  num_columns_ = std::stoll(match[2]);
  if (num_columns_ < 1 || num_columns_ > kMaxColumns) {
    Fail("shape (" + shape + "), expected 1 to " + std::to_string(kMaxColumns) + " columns");
  }
}

int64_t NpyReader::Read(float* rows, int64_t max_rows) {
  const int64_t num_rows = std::min(max_rows, num_rows_ - rows_read_);
  if (num_rows <= 0) return 0;
  if (is_fortran_) {
    ReadColumns(rows, num_rows);
  } else {
    ReadValues(rows, static_cast<size_t>(num_rows * num_columns_));
  }
  if (!file_) {
    Fail("ends before row " + std::to_string(rows_read_ + num_rows) + " of " +
         std::to_string(num_rows_));
  }
  rows_read_ += num_rows;
  if (rows_read_ == num_rows_ && file_.peek() != std::ifstream::traits_type::eof()) {
    Fail("goes on after the last of its " + std::to_string(num_rows_) + " rows");
  }
  return num_rows;
}

void NpyReader::ReadValues(float* values, size_t count) {
  if (type_ == NpyType::kFloat32) {
    file_.read(reinterpret_cast<char*>(values), static_cast<std::streamsize>(count * 4));
    return;
  }
  std::vector<double> block(std::min(count, kValuesPerBlock));
  for (size_t done = 0; done < count && file_;) {
    const size_t size = std::min(block.size(), count - done);
    file_.read(reinterpret_cast<char*>(block.data()), static_cast<std::streamsize>(size * 8));
    std::transform(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(size), values + done,
                   [](double value) { return static_cast<float>(value); });
    done += size;
  }
}

void NpyReader::ReadColumns(float* rows, int64_t num_rows) {
  std::vector<float> part(static_cast<size_t>(num_rows));
  for (int64_t column = 0; column < num_columns_; ++column) {
    file_.seekg(data_begin_ + (column * num_rows_ + rows_read_) * value_size());
    ReadValues(part.data(), part.size());
    for (int64_t row = 0; row < num_rows; ++row) {
      rows[row * num_columns_ + column] = part[static_cast<size_t>(row)];
    }
  }
}

void NpyReader::Fail(const std::string& problem) const {
  throw std::runtime_error(path_ + ": " + problem);
}

}  // namespace runnel
