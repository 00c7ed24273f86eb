// A stream's options, the model's limits on them, and a model that fails while it runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "encoder/encoder_weights.h"
#include "encoder/model_file/model_archive.h"
#include "encoder/model_file/tensor.h"
#include "runtime/model.h"
#include "runtime/stream.h"
#include "tests/support/archive_files.h"
#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::kUnlimited;
using testing::kWhole;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;

TEST(StreamOptionsTest, DefaultsAreTheModels) {
  const Stream stream(Tiny());
  EXPECT_EQ(stream.options().chunk_size, 4);
  EXPECT_EQ(stream.options().left_context, 8);
  EXPECT_EQ(&stream.model(), Tiny().get());
}

TEST(StreamOptionsTest, OptionsOutOfRange) {
  const auto error = [](const StreamOptions& options) {
    return ErrorMessage<std::invalid_argument>([&] { Stream(Tiny(), options); });
  };
  for (const int64_t size :
       {int64_t{0}, int64_t{-3}, int64_t{1} << 40, std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(error(Options(size, 4)),
              "chunk_size is " + std::to_string(size) +
                  ", expected 1 to 16777216 encoder frames or -1 (the whole utterance)");
  }
  for (const int64_t size : {int64_t{-3}, int64_t{1} << 40, std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(error(Options(4, size)),
              "left_context is " + std::to_string(size) +
                  ", expected 0 to 16777216 encoder frames or -1 (unlimited)");
  }
  StreamOptions options = Options(4, 4, SearchMethod::kPrefixBeam);
  options.search.beam_size = 0;
  EXPECT_TRUE(Contains(error(options), "beam_size"));
  options.search.beam_size = 1;
  options.search.token_beam = 0;
  EXPECT_TRUE(Contains(error(options), "token_beam"));
  ErrorMessage<std::invalid_argument>([] { Stream(nullptr); });
}

TEST(StreamOptionsTest, TheModelsLimitsHold) {
  const testing::TemporaryFolder folder;
  const ModelArchive archive = ReadModelArchive(testing::TinyModelPath());
  std::string config = archive.config_json;
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"min_chunk_size\": 1", "\"min_chunk_size\": 2"},
           {"\"max_chunk_size\": null", "\"max_chunk_size\": 8"},
           {"\"max_left_context\": null", "\"max_left_context\": 10"}}) {
    ASSERT_NE(config.find(from), std::string::npos);
    config.replace(config.find(from), from.size(), to);
  }
  testing::WriteArchive(folder.File("m.pt"), archive.tensors,
                        {{"runnel.json", config}, {"units.txt", archive.units_text}});
  const std::shared_ptr<const Model> model = Model::Load(folder.File("m.pt"));
  EXPECT_NO_THROW(Stream(model, Options(2, 0)));
  EXPECT_NO_THROW(Stream(model, Options(8, 10)));
  EXPECT_NO_THROW(Stream{model});
  for (const int64_t size : {int64_t{1}, int64_t{9}, kWhole}) {
    EXPECT_TRUE(
        Contains(ErrorMessage<std::invalid_argument>([&] { Stream(model, Options(size, 4)); }),
                 "expected 2 to 8 encoder frames, the limits of this model"));
  }
  for (const int64_t size : {int64_t{11}, kUnlimited}) {
    EXPECT_TRUE(
        Contains(ErrorMessage<std::invalid_argument>([&] { Stream(model, Options(4, size)); }),
                 "expected 0 to 10 encoder frames, the limit of this model"));
  }
}

// Finite weights can overflow: a fault of the model, not of the caller.
TEST(StreamOptionsTest, AModelWhoseOutputOverflowsIsBadData) {
  const std::shared_ptr<const Model> model = testing::TinyThatFails();
  Stream stream(model, Options(4, 8));
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 16);
  stream.AcceptSamples(samples.data(), samples.size());
  EXPECT_TRUE(Contains(ErrorMessage<std::runtime_error>([&] { stream.Decode(); }),
                       "gives no probabilities"));

  // In a batch it is the failure of each stream; DecodeChunks neither throws nor repeats it.
  stream.Reset();
  EXPECT_EQ(stream.failure(), "");
  stream.AcceptSamples(samples.data(), samples.size());
  Stream waiting(model, Options(4, 8));
  EXPECT_EQ(DecodeChunks({&stream, &waiting}), 1U);
  EXPECT_TRUE(Contains(stream.failure(), "gives no probabilities"));
  EXPECT_EQ(waiting.failure(), "");
  EXPECT_FALSE(stream.ChunkReady());
  EXPECT_EQ(DecodeChunks({&stream, &waiting}), 0U);
  const Stream copy = stream;
  EXPECT_EQ(copy.failure(), stream.failure());
}

// The tiny model with a CTC head whose largest weight is `most`.
std::shared_ptr<const Model> TinyWithWeightsUpTo(double most) {
  constexpr char kWeight[] = "ctc.ctc_lo.weight";
  const Tensor tensor = ReadModelArchive(testing::TinyModelPath()).tensors.at(kWeight);
  float largest = 0;
  for (const float value : Float32Values(tensor)) largest = std::max(largest, std::abs(value));
  return testing::TinyWith(kWeight, Scaled(tensor, most / static_cast<double>(largest)));
}

// Scales the weights until one of two streams overflows and the other does not.
TEST(StreamOptionsTest, AStreamThatFailsIsNotFeltByItsBatch) {
  const std::vector<float> samples[] = {NoiseOfChangingLevel(20000, 16),
                                        NoiseOfChangingLevel(20000, 17)};
  const auto decoded = [](Stream stream, const std::vector<float>& audio) {
    stream.AcceptSamples(audio.data(), audio.size());
    stream.Finish();
    while (DecodeChunks({&stream}) > 0) {
    }
    return stream;
  };
  for (double factor = 1e37; factor < 3e38; factor *= 1.02) {
    const std::shared_ptr<const Model> model = TinyWithWeightsUpTo(factor);
    const Stream alone[] = {decoded(Stream(model, Options(4, 8)), samples[0]),
                            decoded(Stream(model, Options(4, 8)), samples[1])};
    if (alone[0].failure().empty() == alone[1].failure().empty()) continue;
    const int failing = alone[0].failure().empty() ? 1 : 0;
    Stream together[] = {Stream(model, Options(4, 8)), Stream(model, Options(4, 8))};
    for (int i = 0; i < 2; ++i) {
      together[i].AcceptSamples(samples[i].data(), samples[i].size());
      together[i].Finish();
    }
    while (DecodeChunks({&together[0], &together[1]}) > 0) {
    }
    EXPECT_EQ(together[failing].failure(), alone[failing].failure());
    EXPECT_TRUE(together[1 - failing].IsFinal());
    EXPECT_EQ(together[1 - failing].Text(), alone[1 - failing].Text());
    return;
  }
  FAIL() << "no factor makes one stream overflow and not the other";
}

// An utterance ends in a chunk, then a later frame of it overflows. After a Reset the encoder goes
// on from the first chunk to the second, although it forgets its context after an endpoint.
TEST(StreamOptionsTest, ResetForgetsAnEndpointOfTheChunkThatFailed) {
  constexpr int64_t kChunk = 8;
  StreamOptions options = Options(kChunk, 8);
  options.endpoints.enabled = true;
  options.endpoints.reset_encoder = true;
  options.endpoints.rules = {{{false, 1000, 0}, {true, 1000, 0}, {false, 0, 0.4}}};  // 10 frames
  for (double most = 1e38; most < 3e38; most *= 1.05) {
    const std::shared_ptr<const Model> model = TinyWithWeightsUpTo(most);
    std::vector<Stream> failed;  // after an endpoint of the same chunk
    std::vector<std::vector<float>> good;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      const std::vector<float> samples = NoiseOfChangingLevel(20000, seed);
      Stream stream(model, options);
      stream.AcceptSamples(samples.data(), samples.size());
      while (DecodeChunks({&stream}) > 0) {
      }
      if (stream.failure().empty()) {
        good.push_back(samples);
      } else if (stream.text_begin() > stream.num_encoder_frames() - kChunk) {
        failed.push_back(std::move(stream));  // a copy would not have what a step left
      }
    }
    if (failed.size() < 5 || good.empty()) continue;
    for (size_t i = 0; i < failed.size(); ++i) {
      const std::vector<float>& samples = good[i % good.size()];
      Stream expected(model, options);
      failed[i].Reset();
      for (Stream* stream : {&failed[i], &expected}) {
        stream->AcceptSamples(samples.data(), samples.size());
        stream->Decode();
      }
      testing::ExpectSameUtterances(failed[i].TakeUtterances(), expected.TakeUtterances());
    }
    return;
  }
  FAIL() << "no weights make five streams fail after an endpoint";
}

}  // namespace
}  // namespace runnel
