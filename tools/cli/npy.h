// NumPy's .npy files, so that anyone can compare values: matrices of floating-point numbers.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
// Format: numpy.lib.format, versions 1.0 to 3.0.
#ifndef RUNNEL_TOOLS_NPY_H_
#define RUNNEL_TOOLS_NPY_H_

#include <cstdint>
#include <fstream>
#include <string>

namespace runnel {

// What --output takes in the tools that write a matrix.
constexpr char kNpyFile[] = "a NumPy file to write (*.npy)";

enum class NpyType { kFloat32, kFloat64 };

// Writes a matrix row by row; how many rows there are is only known at the end, so that no dump is
// ever held in memory.
class NpyWriter {
 public:
  // Creates or overwrites `path`. Throws std::runtime_error when it cannot.
  NpyWriter(const std::string& path, int64_t num_columns, NpyType type);

  // Removes the file unless Close has succeeded.
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  // rows: (num_rows, num_columns), of the type given above (std::logic_error otherwise). Throws
  // std::runtime_error when the data cannot be written.
  void Append(const float* rows, int64_t num_rows);
  void Append(const double* rows, int64_t num_rows);

  // Writes the number of rows into the header. Must be called; throws as Append does.
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
  // Throws std::runtime_error, naming the file, what came and what was expected, unless it is a
  // little-endian, C-ordered float32 or float64 matrix.
  explicit NpyReader(const std::string& path);

  int64_t num_rows() const { return num_rows_; }
  int64_t num_columns() const { return num_columns_; }

  // Up to `max_rows` further rows into `rows`, (max_rows, num_columns); returns how many, 0 at the
  // end. float64 is rounded. Throws std::runtime_error when the file ends early or goes on after
  // its last row.
  int64_t Read(float* rows, int64_t max_rows);

 private:
  void ParseHeader(const std::string& header);
  [[noreturn]] void Fail(const std::string& problem) const;

  const std::string path_;
  std::ifstream file_;
  NpyType type_ = NpyType::kFloat32;
  int64_t num_rows_ = 0;
  int64_t num_columns_ = 0;
  int64_t rows_read_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_NPY_H_
