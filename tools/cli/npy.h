// Writes and reads matrices of floating-point numbers in NumPy's .npy files.
// Format: numpy.lib.format, versions 1.0 to 3.0.
#ifndef RUNNEL_TOOLS_CLI_NPY_H_
#define RUNNEL_TOOLS_CLI_NPY_H_

#include <cstdint>
#include <fstream>
#include <string>

namespace runnel {

// The value expected of --output in tools that write a matrix.
constexpr char kNpyFile[] = "a NumPy file to write (*.npy)";

enum class NpyType { kFloat32, kFloat64 };

// Writes a matrix row by row. The number of rows is written at the end, so the matrix need not fit
// in memory.
class NpyWriter {
 public:
  // Creates or overwrites `path`. Throws std::runtime_error when it cannot.
  NpyWriter(const std::string& path, int64_t num_columns, NpyType type);

  // Removes the file unless Close succeeded.
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  // `rows`: (num_rows, num_columns), of the type of the file (otherwise std::logic_error). Throws
  // std::runtime_error when writing fails.
  void Append(const float* rows, int64_t num_rows);
  void Append(const double* rows, int64_t num_rows);

  // Writes the number of rows into the header. Must be called last; throws as Append does.
  void Close();

  int64_t num_rows() const { return num_rows_; }

 private:
  void AppendBytes(const void* rows, int64_t num_rows, NpyType type, size_t value_size);
  void WriteHeader();
  void CheckWritten();

  const std::string path_;
  const int64_t num_columns_;
  const NpyType type_;
  std::ofstream file_;
  int64_t num_rows_ = 0;
  bool closed_ = false;
};

// Reads a matrix row by row as float32.
class NpyReader {
 public:
  // Throws std::runtime_error, which names the file and what was expected, unless it holds a
  // little-endian matrix of float32 or float64 with all of its rows. One in Fortran order must be
  // in a file that seeks.
  explicit NpyReader(const std::string& path);

  int64_t num_rows() const { return num_rows_; }
  int64_t num_columns() const { return num_columns_; }

  // Reads up to `max_rows` further rows into `rows`, (max_rows, num_columns). Returns their number,
  // 0 at the end. float64 is rounded. Throws std::runtime_error when the file ends early or has
  // bytes after its last row.
  int64_t Read(float* rows, int64_t max_rows);

 private:
  void ParseHeader(const std::string& header);
  // That the rows of the header are in the file.
  void CheckSize() const;
  int64_t value_size() const { return type_ == NpyType::kFloat32 ? 4 : 8; }
  // The next `count` values of the file; fewer leave file_ in an error.
  void ReadValues(float* values, size_t count);
  // A part of each column, for num_rows rows from rows_read_ on.
  void ReadColumns(float* rows, int64_t num_rows);
  [[noreturn]] void Fail(const std::string& problem) const;

  const std::string path_;
  std::ifstream file_;
  NpyType type_ = NpyType::kFloat32;
  bool is_fortran_ = false;
  std::streamoff data_begin_ = 0;
  int64_t num_rows_ = 0;
  int64_t num_columns_ = 0;
  int64_t rows_read_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_NPY_H_
