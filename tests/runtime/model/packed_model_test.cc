// Model files with packed weights: equal to packing at load, to the bit, and safe when damaged.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encoder/cpu/kernels/matmul/stored_matrix.h"
#include "runtime/files/checksum.h"
#include "runtime/files/mapped_bytes.h"
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

  using Json = nlohmann::ordered_json;

  static Json IndexOf(const std::string& bytes) {
    uint64_t size = 0;
    std::memcpy(&size, bytes.data() + kIndexBegin - sizeof(size), sizeof(size));
    return Json::parse(std::string_view(bytes).substr(kIndexBegin, size));
  }

  // The file of `bytes` with a changed index and the same sections.
  std::string WithIndex(const std::string& bytes,
                        const std::function<void(Json* index)>& change) const {
    Json index = IndexOf(bytes);
    const size_t first_section = Aligned(kIndexBegin + index.dump().size());
    change(&index);
    const std::string text = index.dump();
    std::string changed =
        bytes.substr(0, kChecksumEnd) + std::string(2 * sizeof(uint64_t), 0) + text;
    changed.resize(Aligned(changed.size()));
    changed += bytes.substr(first_section);
    const std::array<uint64_t, 2> sizes = {changed.size(), text.size()};
    std::memcpy(changed.data() + kChecksumEnd, sizes.data(), sizeof(sizes));
    return Sealed(changed);
  }

  // The entry of this name.
  template <class Entries>
  static auto Find(Entries& entries, const std::string& name) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const Json& entry) { return entry["name"] == name; });
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
  EXPECT_EQ(ErrorMessage<std::invalid_argument>(
                [&] { Model::Load(TinyModelPath(), With(Precision::kInt4)); }),
            TinyModelPath() +
                ": got precision int4, which a file has from pack_model, expected such a file");
  ModelOptions options;
  options.units_file = "units.txt";
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { Model::Load(path, options); }),
            path + ": holds its own units, expected no other (units.txt)");
  EXPECT_EQ(ErrorMessage<std::runtime_error>(
                [&] { PackModel(path, Precision::kInt8, "", folder_.File("again")); }),
            path + ": holds packed weights, expected the model file that they were packed from");
  EXPECT_EQ(ErrorMessage<std::invalid_argument>(
                [&] { PackModel(TinyModelPath(), Precision::kFloat64, "", path); }),
            "precision of packed weights is float64, expected float32, bfloat16, int8 or int4");
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

TEST_F(PackedModelTest, OtherKindsAreNamed) {
  const std::string bytes = testing::ReadBytes(Pack(Precision::kInt8));
  const std::string arrangement = kernels::kStoredMatrixKind;
  std::string changed = "named " + arrangement;
  changed.back() = changed.back() == '3' ? '7' : '3';
  // Of this arrangement without names, and of version 0.2.0.
  for (const std::string& other : {changed, arrangement, std::string("oneDNN 3.11.0")}) {
    EXPECT_EQ(ErrorOf(WithIndex(bytes, [&](Json* index) { (*index)["kind"] = other; })),
              "holds matrices in " + other + ", expected named " + arrangement +
                  ": pack the model again with this version");
  }
}

TEST_F(PackedModelTest, MatricesAreNamedAfterTheirTensors) {
  const Json index = IndexOf(testing::ReadBytes(Pack(Precision::kFloat32)));
  std::set<std::string> in_matrices, named;
  for (const Json& tensor : index["tensors"]) {
    if (tensor["values"].is_null()) in_matrices.insert(tensor["name"].get<std::string>());
  }
  for (const Json& matrix : index["matrices"]) {
    std::istringstream names(matrix["name"].get<std::string>());
    for (std::string name; std::getline(names, name, '+');) {
      EXPECT_TRUE(named.insert(name).second) << name << " is in two matrices";
    }
  }
  EXPECT_EQ(named, in_matrices);
  EXPECT_EQ(named.count("ctc.ctc_lo.weight"), 1U);
}

TEST_F(PackedModelTest, MatricesAreFoundByName) {
  const std::string path = Pack(Precision::kInt8);
  const std::string bytes = testing::ReadBytes(path);
  const auto final_result = [](const std::string& file) {
    Stream stream(Model::Load(file), testing::Options(4, 8));
    const std::vector<float> samples = testing::NoiseOfChangingLevel(2 * 16000, 1);
    stream.AcceptSamples(samples.data(), samples.size());
    stream.Finish();
    stream.Decode();
    return testing::Final(stream);
  };
  const auto expected = final_result(path);
  const std::string reversed = WithIndex(bytes, [](Json* index) {
    std::reverse((*index)["matrices"].begin(), (*index)["matrices"].end());
  });
  testing::ExpectSame(final_result(reversed), expected);
  // Two of one shape, which the shape cannot tell apart.
  const std::string swapped = WithIndex(bytes, [](Json* index) {
    Json& matrices = (*index)["matrices"];
    for (size_t i = 0; i < matrices.size(); ++i) {
      for (size_t j = i + 1; j < matrices.size(); ++j) {
        if (matrices[i]["shape"] == matrices[j]["shape"])
          return std::swap(matrices[i], matrices[j]);
      }
    }
    FAIL() << "no two matrices have one shape";
  });
  testing::ExpectSame(final_result(swapped), expected);
}

TEST_F(PackedModelTest, NamesThatDoNotFitAreOneLine) {
  const std::string bytes = testing::ReadBytes(Pack(Precision::kInt8));
  const auto error = [&](const std::function<void(Json * matrices)>& change) {
    return ErrorOf(WithIndex(bytes, [&](Json* index) { change(&(*index)["matrices"]); }));
  };
  const Json head = *Find(IndexOf(bytes)["matrices"], "ctc.ctc_lo.weight");
  const std::string shape = "(" + head["shape"][0].dump() + ", " + head["shape"][1].dump() + ")";
  const std::string missing = "packed matrix ctc.ctc_lo.weight is missing, expected shape " + shape;
  EXPECT_EQ(error([](Json* all) { all->erase(Find(*all, "ctc.ctc_lo.weight")); }), missing);
  EXPECT_EQ(error([](Json* all) { (*Find(*all, "ctc.ctc_lo.weight"))["name"] = "ctc.weight"; }),
            missing);
  EXPECT_EQ(error([&](Json* all) { all->push_back(head); }),
            "packed matrix ctc.ctc_lo.weight is there twice, expected once");
  EXPECT_EQ(error([&](Json* all) {
              for (const char* name : {"b.weight", "a.weight"}) {
                all->push_back(head);
                all->back()["name"] = name;
              }
            }),
            "packed matrices that the configuration does not call for: a.weight, b.weight");
  EXPECT_EQ(error([](Json* all) {
              (*Find(*all, "ctc.ctc_lo.weight"))["shape"] = {3, 5};
            }),
            "packed matrix ctc.ctc_lo.weight has shape (3, 5), expected " + shape);
  EXPECT_EQ(error([](Json* all) {
              (*Find(*all, "ctc.ctc_lo.weight"))["values"][1] = 1;
            }).find("packed matrix ctc.ctc_lo.weight has 1 bytes of weights, expected "),
            0U);
  EXPECT_TRUE(
      Contains(error([](Json* all) { Find(*all, "ctc.ctc_lo.weight")->erase("name"); }), "name"));
}

TEST_F(PackedModelTest, FormatsThatDoNotFitAreOneLine) {
  const std::string name = "encoder.encoders.0.feed_forward.w_1.weight";
  const auto error = [&](Precision precision, const std::function<void(Json * matrix)>& change) {
    return ErrorOf(WithIndex(testing::ReadBytes(Pack(precision)),
                             [&](Json* index) { change(&*Find((*index)["matrices"], name)); }));
  };
  const auto four_bits = [](Json* matrix) { (*matrix)["format"] = "four bits"; };
  EXPECT_EQ(
      error(Precision::kFloat32, four_bits),
      "packed matrix " + name + " has weights of four bits, expected them in int8 matmuls only");
  EXPECT_TRUE(Contains(error(Precision::kInt8, four_bits), "bytes of weights, expected "));
  EXPECT_TRUE(Contains(error(Precision::kInt4, [](Json* matrix) { matrix->erase("format"); }),
                       "bytes of weights, expected "));
  EXPECT_TRUE(Contains(error(Precision::kInt4, [](Json* matrix) { (*matrix)["format"] = "6"; }),
                       R"(format is "6", expected "four bits")"));
}

TEST_F(PackedModelTest, ATensorThatIsThereTwiceIsNamed) {
  const std::string bytes = testing::ReadBytes(Pack(Precision::kInt8));
  EXPECT_EQ(ErrorOf(WithIndex(bytes,
                              [](Json* index) {
                                Json& tensors = (*index)["tensors"];
                                tensors.push_back(*Find(tensors, "ctc.ctc_lo.bias"));
                              })),
            "tensor ctc.ctc_lo.bias is there twice, expected once");
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
