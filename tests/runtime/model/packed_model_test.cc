// Model files with packed weights: equal to packing at load, to the bit, and safe when damaged.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "encoder/cpu/kernels/matmul/stored_matrix.h"
#include "runtime/files/checksum.h"
#include "runtime/model.h"
#include "runtime/model/pack_model.h"
#include "runtime/model/packed_file.h"
#include "runtime/stream.h"
#include "tests/support/archive_files.h"
#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/playback.h"
#include "tests/support/random_audio.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::TinyModelPath;

constexpr size_t kChecksumBegin = 8;
constexpr size_t kChecksumEnd = 24;
constexpr size_t kIndexBegin = 40;

class PackedModelTest : public ::testing::Test {
 protected:
  // The tiny model, packed.
  std::string Pack(Precision precision) const {
    std::string path = folder_.File(PrecisionName(precision));
    const uint64_t size = PackModel(TinyModelPath(), precision, "", path);
    EXPECT_EQ(size, testing::ReadBytes(path).size());
    return path;
  }

  // A file of these bytes, with a checksum that fits.
  std::string Sealed(std::string bytes) const {
    const Checksum checksum = ChecksumOf({std::string_view(bytes).substr(kChecksumEnd)});
    std::memcpy(bytes.data() + kChecksumBegin, checksum.data(), checksum.size());
    return Written(bytes);
  }

  std::string Written(const std::string& bytes) const {
    std::string path = folder_.File("changed");
    testing::WriteBytes(path, bytes);
    return path;
  }

  static std::string ErrorOf(const std::string& path) {
    const std::string message = ErrorMessage<std::runtime_error>([&] { Model::Load(path); });
    EXPECT_EQ(message.substr(0, path.size() + 2), path + ": ");
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message.size() < path.size() + 2 ? message : message.substr(path.size() + 2);
  }

  static ModelOptions With(Precision precision) {
    ModelOptions options;
    options.precision = precision;
    return options;
  }

  const testing::TemporaryFolder folder_;
};

class PackedPrecisionTest : public PackedModelTest,
                            public ::testing::WithParamInterface<Precision> {};

INSTANTIATE_TEST_SUITE_P(Precisions, PackedPrecisionTest,
                         ::testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                           Precision::kInt8),
                         [](const auto& test) { return std::string(PrecisionName(test.param)); });

TEST_P(PackedPrecisionTest, StreamsAreThoseOfPackingAtLoad) {
  const auto packed = Model::Load(Pack(GetParam()));
  const auto loaded = Model::Load(TinyModelPath(), With(GetParam()));
  EXPECT_EQ(packed->ComputeDescription(), loaded->ComputeDescription());
  EXPECT_EQ(packed->fingerprint(), loaded->fingerprint());
  const std::vector<float> samples = testing::NoiseOfChangingLevel(3 * 16000, 1);
  StreamOptions options = testing::Options(4, 8, SearchMethod::kPrefixBeam);
  options.nbest = 4;
  Stream expected(loaded, options);
  Stream actual(packed, options);
  for (Stream* stream : {&expected, &actual}) {
    stream->AcceptSamples(samples.data(), samples.size());
    stream->Decode();
  }
  // A snapshot of either goes on in the other.
  actual = Stream::Restore(loaded, actual.Snapshot());
  expected = Stream::Restore(packed, expected.Snapshot());
  for (Stream* stream : {&expected, &actual}) {
    stream->AcceptSamples(samples.data(), samples.size());
    stream->Finish();
    stream->Decode();
  }
  testing::ExpectSame(testing::Final(actual), testing::Final(expected));
}

TEST_P(PackedPrecisionTest, TheModelKeepsTheMapping) {
  const std::string path = Pack(GetParam());
  const auto model = Model::Load(path, With(GetParam()));
  std::remove(path.c_str());
  Stream stream(model, testing::Options(4, 8));
  const std::vector<float> samples = testing::NoiseOfChangingLevel(16000, 1);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  stream.Decode();
  EXPECT_TRUE(stream.IsFinal());
}

TEST_F(PackedModelTest, OtherPrecisionsAndBackendsAreRefused) {
  const std::string path = Pack(Precision::kInt8);
  EXPECT_EQ(
      ErrorMessage<std::invalid_argument>([&] { Model::Load(path, With(Precision::kFloat32)); }),
      path +
          ": holds weights that are packed as int8, got precision float32, expected the "
          "same or none");
  ModelOptions options;
  options.backend = Backend::kLibTorch;
  EXPECT_TRUE(Contains(ErrorMessage<std::invalid_argument>([&] { Model::Load(path, options); }),
                       "LibTorch"));
  const std::string plain = Pack(Precision::kFloat32);
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { Model::Load(plain, options); }),
            plain +
                ": holds packed weights, which only the CPU backend computes, expected the model "
                "file that they were packed from");
  options = {};
  options.units_file = "units.txt";
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { Model::Load(path, options); }),
            path + ": holds its own units, expected no other (units.txt)");
  EXPECT_EQ(ErrorMessage<std::runtime_error>(
                [&] { PackModel(path, Precision::kInt8, "", folder_.File("again")); }),
            path + ": holds packed weights, expected the model file that they were packed from");
  EXPECT_EQ(ErrorMessage<std::invalid_argument>(
                [&] { PackModel(TinyModelPath(), Precision::kFloat64, "", path); }),
            "precision of packed weights is float64, expected float32, bfloat16 or int8");
}

TEST_F(PackedModelTest, DamageIsFound) {
  const std::string bytes = testing::ReadBytes(Pack(Precision::kInt8));
  for (size_t size = 8; size < bytes.size(); size += 1 + bytes.size() / 50) {
    EXPECT_TRUE(Contains(ErrorOf(Written(bytes.substr(0, size))), "is truncated")) << size;
  }
  for (size_t at = kChecksumBegin; at < bytes.size(); at += 1 + bytes.size() / 50) {
    std::string changed = bytes;
    changed[at] ^= 1;
    EXPECT_TRUE(Contains(ErrorOf(Written(changed)), "damaged")) << at;
  }
}

TEST_F(PackedModelTest, AnotherArrangementIsNamed) {
  std::string bytes = testing::ReadBytes(Pack(Precision::kInt8));
  const std::string kind = kernels::kStoredMatrixKind;
  std::string other = kind;
  other.back() = other.back() == '3' ? '7' : '3';
  bytes.replace(bytes.find(kind), kind.size(), other);
  EXPECT_EQ(ErrorOf(Sealed(bytes)), "holds matrices in " + other + ", expected " + kind +
                                        ": pack the model again with this version");
}

// With a checksum that fits: each change is refused by name or harmless.
TEST_F(PackedModelTest, NoChangeOfTheIndexDoesHarm) {
  const std::string bytes = testing::ReadBytes(Pack(Precision::kInt8));
  uint64_t index_size = 0;
  std::memcpy(&index_size, bytes.data() + kIndexBegin - sizeof(index_size), sizeof(index_size));
  std::mt19937_64 random(7);
  int num_refused = 0;
  for (int i = 0; i < 400; ++i) {
    std::string changed = bytes;
    changed[kIndexBegin + random() % index_size] = "0123456789[]{},:\"x"[random() % 18];
    const std::string path = Sealed(changed);
    try {
      const auto model = Model::Load(path);
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      ++num_refused;
    }
  }
  EXPECT_GT(num_refused, 100);
}

}  // namespace
}  // namespace runnel
