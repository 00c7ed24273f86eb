// Streams that advance together give the results that each gives alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "runtime/model.h"
#include "runtime/stream.h"
#include "tests/support/archive_files.h"
#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::DecodeAtOnce;
using testing::Describe;
using testing::ErrorMessage;
using testing::ExpectSame;
using testing::Final;
using testing::NoiseOfChangingLevel;
using testing::OptionGrid;
using testing::Options;
using testing::Results;
using testing::Tiny;

TEST(StreamBatchTest, StreamsTogetherGiveWhatEachGivesAlone) {
  const std::vector<StreamOptions> grid = OptionGrid();
  for (size_t num_streams = 1; num_streams <= 17; num_streams += 2) {
    const uint64_t seed = 100 + num_streams;
    SCOPED_TRACE(::testing::Message() << num_streams << " streams, seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<std::vector<float>> audio;
    std::vector<Stream> streams;
    std::vector<Results> expected;
    std::vector<size_t> position(num_streams, 0);
    for (size_t i = 0; i < num_streams; ++i) {
      audio.push_back(NoiseOfChangingLevel(random() % 30000, random()));
      const StreamOptions options = grid[random() % grid.size()];
      streams.emplace_back(Tiny(), options);
      expected.push_back(DecodeAtOnce(audio[i], options));
    }
    while (std::any_of(streams.begin(), streams.end(),
                       [](const Stream& stream) { return !stream.IsFinal(); })) {
      for (size_t i = 0; i < num_streams; ++i) {
        if (position[i] > audio[i].size() || random() % 3 == 0) continue;
        const size_t count = std::min(audio[i].size() - position[i], random() % 4000);
        streams[i].AcceptSamples(audio[i].data() + position[i], count);
        position[i] += count;
        if (position[i] == audio[i].size()) {
          streams[i].Finish();
          ++position[i];  // beyond the end: nothing more to give
        }
      }
      std::vector<Stream*> together;
      for (Stream& stream : streams) {
        if (random() % 4 != 0) together.push_back(&stream);
      }
      std::shuffle(together.begin(), together.end(), random);
      const auto ready = static_cast<size_t>(
          std::count_if(together.begin(), together.end(),
                        [](const Stream* stream) { return stream->ChunkReady(); }));
      EXPECT_EQ(DecodeChunks(together), ready);
    }
    for (size_t i = 0; i < num_streams; ++i) {
      SCOPED_TRACE(::testing::Message() << "stream " << i << ", " << audio[i].size() << " samples, "
                                        << Describe(streams[i].options()));
      ExpectSame(Final(streams[i]), expected[i], testing::kBatchScoreTolerance);
    }
  }
}

TEST(StreamBatchTest, WrongBatchesAreRefusedAndChangeNothing) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 15);
  const std::shared_ptr<const Model> other_model = testing::LoadTiny();
  Stream stream(Tiny(), Options(4, 8));
  Stream second(Tiny(), Options(4, 8));
  Stream other(other_model, Options(4, 8));
  for (Stream* each : {&stream, &second, &other}) {
    each->AcceptSamples(samples.data(), samples.size());
    each->Finish();
  }
  ErrorMessage<std::invalid_argument>([&] { DecodeChunks({&stream, &second, &stream}); });
  ErrorMessage<std::invalid_argument>([&] { DecodeChunks({&stream, &second, &other}); });
  for (Stream* each : {&stream, &second, &other}) {
    EXPECT_EQ(each->num_encoder_frames(), 0);
    each->Decode();
    ExpectSame(Final(*each), DecodeAtOnce(samples, Options(4, 8)));
  }
}

TEST(StreamBatchTest, NothingToDecode) {
  EXPECT_EQ(DecodeChunks({}), 0U);
  Stream empty(Tiny());
  EXPECT_EQ(DecodeChunks({&empty}), 0U);
  EXPECT_EQ(empty.Text(), "");
  EXPECT_EQ(empty.Best().text, "");
  ErrorMessage<std::invalid_argument>([&] { empty.NBest(0); });
  empty.Finish();
  EXPECT_TRUE(empty.IsFinal());
  EXPECT_EQ(DecodeChunks({&empty}), 0U);
}

}  // namespace
}  // namespace runnel
