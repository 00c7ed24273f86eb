// The matrices of a model come from the packer that its backend is made with, by name. No module
// keeps the packer.
#include "encoder/cpu/packer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "encoder/cpu/backend.h"
#include "encoder/encoder.h"
#include "encoder/encoder_weights.h"
#include "encoder/rows.h"
#include "tests/support/error_message.h"
#include "tests/support/matrices.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"

namespace runnel {
namespace {

using testing::EqualBits;
using testing::ErrorMessage;
using testing::RandomWeightSource;
using testing::SmallConfig;

constexpr uint64_t kPackedSeed = 20261126;

EncoderConfig WithSubsampling(SubsamplingType type) {
  EncoderConfig config = SmallConfig();
  config.subsampling.type = type;
  if (config.subsampling.is_striding()) config.subsampling.channels = 5;
  return config;
}

// An encoder whose matrices `packer` makes.
Encoder MakeEncoder(const EncoderConfig& config, std::shared_ptr<cpu::Packer> packer) {
  RandomWeightSource weights(DataType::kFloat32, kPackedSeed);
  const auto backend = MakeCpuBackend(config, &weights, {}, std::move(packer));
  return Encoder(config, &weights, *backend);
}

std::string ErrorOfPacking(cpu::Packer* packer, const std::string& name, const Shape& shape) {
  RandomWeightSource weights(DataType::kFloat32, kPackedSeed);
  LinearWeights layer;
  layer.name = name;
  layer.weight = weights.Take(name, shape);
  return ErrorMessage<std::runtime_error>([&] {
    packer->Pack(layer, {kernels::MatmulType::kFloat32, kernels::MatmulOutput::kStore});
  });
}

TEST(PackerTest, ModulesDoNotKeepIt) {
  const EncoderConfig config = SmallConfig();
  auto recorder = std::make_shared<cpu::RecordingPacker>();
  const Encoder packed = MakeEncoder(config, recorder);
  auto stored = std::make_shared<cpu::StoredMatrices>(recorder->matrices(), "model");
  const Encoder adopted = MakeEncoder(config, stored);
  EXPECT_NO_THROW(stored->CheckAllTaken());
  EXPECT_EQ(recorder.use_count(), 1);
  EXPECT_EQ(stored.use_count(), 1);
  recorder.reset();
  stored.reset();
  const Matrix features = testing::RandomFeatures(config, 60, kPackedSeed);
  EXPECT_TRUE(EqualBits(testing::RunAlone(adopted, features, 4, 8),
                        testing::RunAlone(packed, features, 4, 8)));
}

TEST(PackerTest, ABackendKeepsIt) {
  const EncoderConfig config = SmallConfig();
  auto recorder = std::make_shared<cpu::RecordingPacker>();
  const Encoder packed = MakeEncoder(config, recorder);
  RandomWeightSource weights(DataType::kFloat32, kPackedSeed);
  const auto backend = MakeCpuBackend(
      config, &weights, {}, std::make_shared<cpu::StoredMatrices>(recorder->matrices(), "model"));
  const LinearWeights out = BindSubsampling(config, &weights).out;
  const auto linear = backend->MakeLinear(out);
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] {
              backend->MakeLinear(out);
            }).find("model: packed matrix encoder.embed.out.0.weight is missing"),
            0U);
}

// What a packed file needs: no name occurs twice, and the tensors that have no values in the file
// are those that the names are made of.
TEST(PackerTest, NamesAreThoseOfTheTensors) {
  for (const SubsamplingType type :
       {SubsamplingType::kConv1d2, SubsamplingType::kConv2d4, SubsamplingType::kConv2d8,
        SubsamplingType::kLinear, SubsamplingType::kStriding4, SubsamplingType::kDwStriding8}) {
    const EncoderConfig config = WithSubsampling(type);
    RandomWeightSource weights(DataType::kFloat32, kPackedSeed);
    const auto recorder = std::make_shared<cpu::RecordingPacker>();
    const Encoder encoder(config, &weights, *MakeCpuBackend(config, &weights, {}, recorder));
    std::set<std::string> names;
    for (const cpu::NamedMatrix& matrix : recorder->matrices()) {
      std::istringstream parts(matrix.name);
      for (std::string part; std::getline(parts, part, '+');) {
        EXPECT_TRUE(names.insert(part).second) << part;
      }
    }
    EXPECT_EQ(names, weights.matrices());
  }
}

TEST(PackerTest, StoredMatricesAreFoundByName) {
  kernels::StoredMatrix matrix;
  matrix.shape = {3, 2};
  const std::vector<cpu::NamedMatrix> matrices = {{"b", matrix}, {"a", matrix}};
  cpu::StoredMatrices stored(matrices, "m.int8");
  EXPECT_EQ(ErrorOfPacking(&stored, "c", {2, 3}),
            "m.int8: packed matrix c is missing, expected shape (2, 3)");
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { stored.CheckAllTaken(); }),
            "m.int8: packed matrices that the configuration does not call for: a, b");
  EXPECT_EQ(ErrorOfPacking(&stored, "a", {3, 2}),
            "m.int8: packed matrix a has shape (2, 3), expected (3, 2)");
  EXPECT_EQ(ErrorOfPacking(&stored, "b", {2, 3}),
            "m.int8: packed matrix b has 0 bytes of weights, expected 2048");
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] {
              cpu::StoredMatrices({{"a", matrix}, {"b", matrix}, {"a", matrix}}, "m");
            }),
            "m: packed matrix a is there twice, expected once");
}

}  // namespace
}  // namespace runnel
