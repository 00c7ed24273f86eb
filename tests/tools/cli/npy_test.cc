// .npy files: reading and writing them as NumPy does, and the errors of damaged ones.
#include "tools/cli/npy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::ReadBytes;
using testing::TemporaryFolder;
using testing::WriteBytes;

// A file as numpy.save writes it, with any dictionary. `length_size`: 2 in version 1, then 4.
std::string NpyBytes(int version, const std::string& dictionary, const std::string& data) {
  const size_t length_size = version == 1 ? 2 : 4;
  const std::string header = dictionary + "\n";
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (size_t i = 0; i < length_size; ++i) {
    bytes += static_cast<char>((header.size() >> (8 * i)) & 0xFF);
  }
  return bytes + header + data;
}

template <typename Value>
std::string Bytes(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

std::string Dictionary(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
}

class NpyTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& bytes) {
    WriteBytes(path_, bytes);
    return path_;
  }

  std::string ReadError(const std::string& bytes) {
    Write(bytes);
    const std::string message = ErrorMessage<std::runtime_error>([&] {
      NpyReader reader(path_);
      std::vector<float> rows(static_cast<size_t>(reader.num_columns() * 10));
      while (reader.Read(rows.data(), 10) > 0) {
      }
    });
    EXPECT_TRUE(Contains(message, path_));
    return message;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("x.npy");
};

TEST_F(NpyTest, ReadsEveryVersionAndBothTypes) {
  for (const int version : {1, 2, 3}) {
    for (const std::string type : {"<f4", "<f8"}) {
      SCOPED_TRACE(::testing::Message() << "version " << version << ", type " << type);
      const std::string data =
          type == "<f4" ? Bytes<float>({1, 2, 3, 4, 5, 6.5F}) : Bytes<double>({1, 2, 3, 4, 5, 6.5});
      NpyReader reader(Write(NpyBytes(version, Dictionary(type, "3, 2"), data)));
      EXPECT_EQ(reader.num_rows(), 3);
      EXPECT_EQ(reader.num_columns(), 2);
      std::vector<float> rows(4);
      EXPECT_EQ(reader.Read(rows.data(), 2), 2);
      EXPECT_EQ(rows, (std::vector<float>{1, 2, 3, 4}));
      EXPECT_EQ(reader.Read(rows.data(), 2), 1);
      EXPECT_EQ(rows[1], 6.5F);
      EXPECT_EQ(reader.Read(rows.data(), 2), 0);
    }
  }
}

TEST_F(NpyTest, ReadsManyRowsOfDoubles) {
  std::vector<double> values(3000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  NpyReader reader(Write(NpyBytes(1, Dictionary("<f8", "1000, 3"), Bytes(values))));
  std::vector<float> rows(3000);
  EXPECT_EQ(reader.Read(rows.data(), 1000), 1000);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], static_cast<float>(i));
}

TEST_F(NpyTest, EmptyMatrixHasNoRows) {
  NpyReader reader(Write(NpyBytes(1, Dictionary("<f4", "0, 5"), "")));
  std::vector<float> rows(5);
  EXPECT_EQ(reader.Read(rows.data(), 1), 0);
}

TEST_F(NpyTest, NamesWhatIsWrong) {
  const std::string data = Bytes<float>({1, 2, 3, 4});
  EXPECT_TRUE(
      Contains(ErrorMessage<std::runtime_error>([&] { NpyReader reader(path_); }), "cannot open"));
  EXPECT_TRUE(Contains(ReadError(""), "is not a NumPy .npy file"));
  EXPECT_TRUE(Contains(ReadError("RIFF and so on"), "not a NumPy .npy file"));
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { NpyReader reader(folder_.File("")); }),
            folder_.File("") + ": is a directory, expected a file");
  EXPECT_TRUE(Contains(ReadError(NpyBytes(9, Dictionary("<f4", "2, 2"), data)), "version 9"));
  EXPECT_TRUE(Contains(ReadError(NpyBytes(1, Dictionary("<i2", "2, 2"), data)), "'<i2'"));
  EXPECT_TRUE(Contains(ReadError(NpyBytes(1, Dictionary(">f4", "2, 2"), data)), "'>f4'"));
  EXPECT_TRUE(Contains(ReadError(NpyBytes(1, Dictionary("<f4", "4,"), data)), "shape (4,)"));
  EXPECT_TRUE(Contains(ReadError(NpyBytes(1, Dictionary("<f4", "2, 2, 1"), data)), "matrix"));
  EXPECT_TRUE(Contains(ReadError(NpyBytes(1, Dictionary("<f4", "4, 0"), "")), "columns"));
  EXPECT_TRUE(Contains(ReadError(NpyBytes(1, Dictionary("<f4", "-1, 2"), "")), "shape"));
  EXPECT_TRUE(Contains(ReadError(NpyBytes(1, "{'descr': [('x', '<f4')]}", data)), "descr"));
  EXPECT_TRUE(Contains(
      ReadError(NpyBytes(1, "{'descr': '<f4', 'fortran_order': 1, 'shape': (2, 2), }", data)),
      "fortran_order"));
}

TEST_F(NpyTest, FortranOrderIsRead) {
  const std::string order = "', 'fortran_order': True, 'shape': (3, 2), }";
  const std::vector<float> expected = {1, 4, 2, 5, 3, 6};
  for (const int version : {1, 2}) {
    for (const std::string& bytes :
         {NpyBytes(version, "{'descr': '<f4" + order, Bytes<float>({1, 2, 3, 4, 5, 6})),
          NpyBytes(version, "{'descr': '<f8" + order, Bytes<double>({1, 2, 3, 4, 5, 6}))}) {
      for (const int64_t rows_at_once : {1, 2, 3, 4}) {
        NpyReader reader(Write(bytes));
        std::vector<float> rows(6);
        int64_t num_rows = 0;
        while (const int64_t count = reader.Read(rows.data() + 2 * num_rows, rows_at_once)) {
          num_rows += count;
        }
        EXPECT_EQ(num_rows, 3);
        EXPECT_EQ(rows, expected);
      }
      EXPECT_TRUE(Contains(ReadError(bytes + "x"), "goes on"));
      EXPECT_TRUE(Contains(ReadError(bytes.substr(0, bytes.size() - 1)), "ends before row"));
    }
  }
}

TEST_F(NpyTest, AForgedShapeIsAnError) {
  for (const std::string order : {"True", "False"}) {
    for (const std::string shape : {"3, 2", "999999999999999999, 16777216", "999999999999999999, 1",
                                    "288230376151711744, 16", "576460752303423488, 16777216"}) {
      SCOPED_TRACE(shape);
      const std::string message = ReadError(NpyBytes(
          1, "{'descr': '<f4', 'fortran_order': " + order + ", 'shape': (" + shape + "), }",
          Bytes<float>({1, 2, 3, 4})));
      EXPECT_TRUE(Contains(message, "ends before row "));
      EXPECT_TRUE(Contains(message, " of " + shape.substr(0, shape.find(','))));
    }
  }
}

TEST_F(NpyTest, EveryCutIsAnError) {
  const std::string whole = NpyBytes(1, Dictionary("<f4", "2, 2"), Bytes<float>({1, 2, 3, 4}));
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    ReadError(whole.substr(0, size));
  }
  EXPECT_TRUE(Contains(ReadError(whole + "x"), "goes on"));
}

TEST_F(NpyTest, WritesRowsOneAfterTheOther) {
  const float rows[] = {1, 2, 3, 4, 5, 6};
  NpyWriter writer(path_, 3, NpyType::kFloat32);
  writer.Append(rows, 1);
  writer.Append(rows, 0);
  writer.Append(rows, 2);
  writer.Close();
  EXPECT_EQ(writer.num_rows(), 3);
  const std::string bytes = ReadBytes(path_);
  EXPECT_EQ(bytes.size(), 128 + 9 * sizeof(float));
  EXPECT_TRUE(Contains(bytes, "'shape': (3, 3)"));
  NpyReader reader(path_);
  std::vector<float> read(9);
  EXPECT_EQ(reader.Read(read.data(), 3), 3);
  EXPECT_EQ(read, (std::vector<float>{1, 2, 3, 1, 2, 3, 4, 5, 6}));
}

TEST_F(NpyTest, WritesDoublePrecision) {
  const double row[] = {1.0 / 3, 2};
  NpyWriter writer(path_, 2, NpyType::kFloat64);
  writer.Append(row, 1);
  const float single[] = {1, 2};
  EXPECT_THROW(writer.Append(single, 1), std::logic_error);
  writer.Close();
  EXPECT_EQ(ReadBytes(path_).substr(128), Bytes<double>({1.0 / 3, 2}));
}

TEST_F(NpyTest, AnUnfinishedFileIsRemoved) {
  {
    NpyWriter writer(path_, 1, NpyType::kFloat32);
    EXPECT_TRUE(std::filesystem::exists(path_));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(NpyTest, WriteErrorsNameTheFile) {
  const std::string nowhere = folder_.File("missing/x.npy");
  EXPECT_TRUE(Contains(
      ErrorMessage<std::runtime_error>([&] { NpyWriter writer(nowhere, 1, NpyType::kFloat32); }),
      nowhere + ": cannot create: No such file or directory"));
  NpyWriter full("/dev/full", 1, NpyType::kFloat32);
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { full.Close(); }),
            "/dev/full: cannot write: No space left on device");
}

}  // namespace
}  // namespace runnel
