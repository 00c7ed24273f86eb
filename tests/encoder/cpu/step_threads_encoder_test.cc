// Threads of a step change no bit of an encoder's output, whatever its layers are. The sizes are
// large enough that the kernels share their work.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/rows.h"
#include "tests/support/arithmetic.h"
#include "tests/support/matrices.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"

namespace runnel {
namespace {

using testing::Arithmetic;
using testing::EqualBits;
using testing::RandomEncoder;

constexpr uint64_t kSeed = 20261124;

struct Layers {
  const char* name;
  const char* position;  // `encoder.position`
  std::optional<SubsamplingConfig> subsampling;
  std::optional<BranchesConfig> branches = std::nullopt;  // of a Branchformer
};
void PrintTo(const Layers& layers, std::ostream* out) { *out << layers.name; }

const std::vector<Layers>& AllLayers() {
  static const std::vector<Layers> layers = {
      {"chunk_rpe", testing::kChunkRpe, std::nullopt},
      {"dw_striding8", testing::kChunkRpe,
       SubsamplingConfig{SubsamplingType::kDwStriding8, 96, true}},
      {"e_branchformer", testing::kChunkRpe, std::nullopt,
       BranchesConfig{ConvolutionType::kCausal, 300, 15, true, Activation::kIdentity, 7}},
      {"rotary", R"({"scheme": "rotary"})", std::nullopt},
      {"unshifted",
       R"({"scheme": "unshifted", "linear_pos_bias": true, "query_scaling": "after_bias"})",
       std::nullopt},
      {"relative_key_value",
       R"({"scheme": "relative_key_value", "max_distance": 5, "values": true, "shared": false})",
       std::nullopt},
      {"legacy_rel_pos", R"({"scheme": "legacy_rel_pos", "linear_pos_bias": false,
                             "query_scaling": "after_bias", "table_length": 200})",
       std::nullopt}};
  return layers;
}

std::vector<Arithmetic> CpuArithmetics() {
  std::vector<Arithmetic> all = testing::ReducedPrecision();
  all.push_back(testing::CpuArithmetic());
  return all;
}

class StepThreadsEncoderTest : public ::testing::TestWithParam<std::tuple<Arithmetic, Layers>> {
 protected:
  static EncoderConfig Config() {
    const Layers& layers = std::get<1>(GetParam());
    EncoderConfig config = testing::SmallConfig(layers.position);
    config.input_dim = 40;
    config.model_dim = 192;
    config.num_layers = 2;
    config.num_heads = 3;
    config.feed_forward.hidden_dim = 300;
    if (layers.subsampling) config.subsampling = *layers.subsampling;
    if (layers.branches) {
      config.convolution.reset();
      config.branches = layers.branches;
    }
    return config;
  }
  static Encoder MakeEncoder(int step_threads) {
    Arithmetic arithmetic = std::get<0>(GetParam());
    arithmetic.cpu->step_threads = step_threads;
    return RandomEncoder(Config(), arithmetic, kSeed);
  }
};

INSTANTIATE_TEST_SUITE_P(All, StepThreadsEncoderTest,
                         ::testing::Combine(::testing::ValuesIn(CpuArithmetics()),
                                            ::testing::ValuesIn(AllLayers())),
                         [](const auto& parts) {
                           return std::get<0>(parts.param).name + "_" +
                                  std::get<1>(parts.param).name;
                         });

TEST_P(StepThreadsEncoderTest, ChangeNothing) {
  struct Case {
    int64_t chunk_size;
    int step_threads;
  };
  const Encoder alone = MakeEncoder(1);
  const Matrix features = testing::RandomFeatures(alone.config(), 700, kSeed + 1);
  std::vector<Case> cases = {{testing::kFull, 2}};
  if (!NeedsWholeUtterance(alone.config().position)) {
    cases.insert(cases.end(), {{3, 2}, {67, 3}});
  }
  for (const auto [chunk_size, step_threads] : cases) {
    const int64_t left_context = chunk_size == testing::kFull ? -1 : 64;
    EXPECT_TRUE(
        EqualBits(testing::RunAlone(MakeEncoder(step_threads), features, chunk_size, left_context),
                  testing::RunAlone(alone, features, chunk_size, left_context)))
        << step_threads << " threads, C=" << chunk_size;
  }
}

}  // namespace
}  // namespace runnel
