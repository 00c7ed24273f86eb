// Packed files against LibTorch with the same rounded weights, and the choice of the layers that
// have weights of four bits.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/model/four_bit_layers.h"
#include "runtime/model/model_parts.h"
#include "runtime/model/pack_model.h"
#include "runtime/model/packed_file.h"
#include "runtime/stream.h"
#include "tests/support/archive_files.h"
#include "tests/support/arithmetic.h"
#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/random_audio.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::ErrorMessage;
using testing::TinyModelPath;

std::vector<std::vector<float>> Noise(const ModelParts& model) {
  std::mt19937 random(3);
  std::normal_distribution<float> distribution(0.0f, 3.0f);
  std::vector<std::vector<float>> recordings;
  for (const int num_frames : {120, 57}) {
    recordings.emplace_back(static_cast<size_t>(num_frames * model.frame_extractor->dim()));
    for (float& value : recordings.back()) value = distribution(random);
  }
  return recordings;
}

std::vector<float> OutputOf(const Model& model) {
  return EncoderOutput(model.parts(), Noise(model.parts()));
}

class FourBitModelTest : public ::testing::Test {
 protected:
  std::string Pack(Precision precision) const {
    std::string path = folder_.File(PrecisionName(precision));
    PackModel(TinyModelPath(), precision, "", path);
    return path;
  }

  FourBitFile PackBySpeech(double max_error, const std::string& path) const {
    FourBitOptions options;
    options.read_speech = Noise;
    options.max_error = max_error;
    options.on_layer = [](int, int) {};
    return PackInFourBits(TinyModelPath(), "", path, options);
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(FourBitModelTest, ChangesTheOutputByTheRoundingOfItsLayers) {
  const auto eight_bits = Model::Load(Pack(Precision::kInt8));
  const auto four_bits = Model::Load(Pack(Precision::kInt4));
  EXPECT_EQ(four_bits->parts().precision, Precision::kInt4);
  EXPECT_TRUE(four_bits->is_bit_reproducible());
  EXPECT_EQ(four_bits->ComputeDescription().rfind("int4 matmuls", 0), 0U);
  const double error = RelativeError(OutputOf(*four_bits), OutputOf(*eight_bits));
  EXPECT_GT(error, 0.005);
  EXPECT_LT(error, 0.3);
}

TEST_F(FourBitModelTest, StreamsGiveTheSameBitsInAnyPackets) {
  const auto model = Model::Load(Pack(Precision::kInt4));
  const std::vector<float> samples = testing::NoiseOfChangingLevel(3 * 16000, 1);
  for (const int64_t chunk_size : {1, 4, 16}) {
    const StreamOptions options = testing::Options(chunk_size, 8, SearchMethod::kPrefixBeam);
    const auto expected = testing::DecodeAtOnce(samples, options, model);
    std::mt19937_64 random(1);
    Stream stream(model, options);
    testing::Feed(&stream, samples, 700, &random);
    testing::ExpectSame(testing::Final(stream), expected);
  }
}

// The choice is part of the model's identity: a snapshot of one does not go on in another.
TEST_F(FourBitModelTest, LayersOfTheLargestErrorsKeepEightBits) {
  const std::string all = folder_.File("all");
  const std::string some = folder_.File("some");
  const std::string none = folder_.File("none");
  const FourBitFile with_all = PackBySpeech(1.0, all);
  EXPECT_TRUE(with_all.eight_bit_layers.empty());
  EXPECT_EQ(with_all.size, testing::ReadBytes(all).size());
  ASSERT_GE(with_all.layers.size(), 2U);
  std::vector<LayerError> errors = with_all.layers;
  for (const LayerError& layer : errors) EXPECT_GT(layer.error, 0.0) << layer.layer;

  const FourBitFile with_some = PackBySpeech(JointError(errors) * 0.999, some);
  ASSERT_EQ(with_some.eight_bit_layers.size(), 1U);
  const int kept = with_some.eight_bit_layers[0];
  for (const LayerError& layer : errors) EXPECT_LE(layer.error, errors.at(kept).error);
  EXPECT_GT(with_some.size, with_all.size);

  const FourBitFile with_none = PackBySpeech(0.0, none);
  EXPECT_EQ(with_none.eight_bit_layers.size(), errors.size());
  const auto eight_bits = Model::Load(Pack(Precision::kInt8));
  // Only the projections of positions are rounded, to eight bits.
  EXPECT_LT(RelativeError(OutputOf(*Model::Load(none)), OutputOf(*eight_bits)), 0.01);

  // Rounding that knows the speech does better on it, and makes another model.
  const auto blind = Model::Load(Pack(Precision::kInt4));
  EXPECT_LT(RelativeError(OutputOf(*Model::Load(all)), OutputOf(*eight_bits)),
            0.8 * RelativeError(OutputOf(*blind), OutputOf(*eight_bits)));
  EXPECT_NE(Model::Load(all)->fingerprint(), blind->fingerprint());

  const double some_error = RelativeError(OutputOf(*Model::Load(some)), OutputOf(*eight_bits));
  EXPECT_GT(some_error, 0.0);
  EXPECT_LT(some_error, RelativeError(OutputOf(*Model::Load(all)), OutputOf(*eight_bits)));
  EXPECT_NE(Model::Load(all)->fingerprint(), Model::Load(some)->fingerprint());
  EXPECT_NE(Model::Load(none)->fingerprint(), Model::Load(some)->fingerprint());
}

TEST_F(FourBitModelTest, SpeechWithoutAFrameIsRefused) {
  FourBitOptions options;
  options.read_speech = [](const ModelParts&) { return std::vector<std::vector<float>>(1); };
  options.max_error = 0.1;
  options.on_layer = [](int, int) {};
  EXPECT_EQ(ErrorMessage<std::runtime_error>(
                [&] { PackInFourBits(TinyModelPath(), "", folder_.File("none"), options); }),
            "the speech gives no encoder frame, expected longer recordings");
}

TEST(LayersOfEightBitsTest, AreTheFewestThatSuffice) {
  const std::vector<LayerError> layers = {{0, 0.03}, {1, 0.01}, {2, 0.04}, {3, 0.0}};
  EXPECT_EQ(LayersOfEightBits(layers, 1.0), std::vector<int>());
  EXPECT_EQ(LayersOfEightBits(layers, 0.0509), (std::vector<int>{2}));
  EXPECT_EQ(LayersOfEightBits(layers, 0.032), (std::vector<int>{2}));
  EXPECT_EQ(LayersOfEightBits(layers, 0.03), (std::vector<int>{0, 2}));
  EXPECT_EQ(LayersOfEightBits(layers, 0.0), (std::vector<int>{0, 1, 2}));
}

// The kernels against LibTorch's operations with the weights as they were rounded, scaled and
// arranged.
TEST_F(FourBitModelTest, LibTorchComputesWithTheRoundedWeights) {
  if (!testing::kHasLibTorch) GTEST_SKIP() << "built without LibTorch";
  ModelOptions float64;
  float64.precision = Precision::kFloat64;
  ModelOptions float32;
  float32.backend = Backend::kLibTorch;
  const struct {
    Precision precision;
    double tolerance;  // the rows of int8 matmuls are rounded too
  } cases[] = {{Precision::kFloat32, 1e-5},
               {Precision::kBfloat16, 0.02},
               {Precision::kInt8, 0.04},
               {Precision::kInt4, 0.04}};
  const auto plain = Model::Load(TinyModelPath(), float32);
  for (const auto& [precision, tolerance] : cases) {
    SCOPED_TRACE(PrecisionName(precision));
    const std::string path = Pack(precision);
    const std::vector<float> actual = OutputOf(*Model::Load(path));
    const auto reference = Model::Load(path, float32);
    EXPECT_LT(RelativeError(actual, OutputOf(*reference)), tolerance);
    EXPECT_NE(reference->fingerprint(), plain->fingerprint());
    EXPECT_EQ(Model::Load(path, float64)->parts().precision, Precision::kFloat64);
    if (precision != Precision::kInt4) continue;
    // Four bits are much further from the plain weights than from the rounded ones.
    EXPECT_GT(RelativeError(actual, OutputOf(*plain)), tolerance);
  }
}

}  // namespace
}  // namespace runnel
