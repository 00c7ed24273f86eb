// Streams in several threads share one model.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/model.h"
#include "runtime/stream.h"
#include "tests/support/archive_files.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::DecodeAtOnce;
using testing::ExpectSame;
using testing::NoiseOfChangingLevel;
using testing::OptionGrid;
using testing::Results;

TEST(StreamThreadsTest, ThreadsShareOneModel) {
  // A model of its own, so that its tables are filled while several threads use it.
  const std::shared_ptr<const Model> model = Model::Load(testing::TinyModelPath());
  constexpr size_t kThreads = 4;
  constexpr size_t kStreams = 3;
  const std::vector<StreamOptions> grid = OptionGrid();
  const auto options_of = [&](size_t thread, size_t i) {
    return grid[(thread * 11 + i * 5) % grid.size()];
  };
  const auto audio_of = [](size_t thread, size_t i) {
    return NoiseOfChangingLevel(15000 + 1234 * thread + 777 * i, 100 * thread + i);
  };
  std::vector<std::vector<Results>> results(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::vector<Stream> streams;
      std::vector<Stream*> pointers;
      for (size_t i = 0; i < kStreams; ++i) streams.emplace_back(model, options_of(t, i));
      for (size_t i = 0; i < kStreams; ++i) {
        const std::vector<float> samples = audio_of(t, i);
        streams[i].AcceptSamples(samples.data(), samples.size());
        streams[i].Finish();
        pointers.push_back(&streams[i]);
      }
      while (DecodeChunks(pointers) > 0) {
      }
      for (const Stream& stream : streams) results[t].push_back(stream.NBest(5));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < kThreads; ++t) {
    for (size_t i = 0; i < kStreams; ++i) {
      SCOPED_TRACE(::testing::Message() << "thread " << t << ", stream " << i);
      ExpectSame(results[t][i], DecodeAtOnce(audio_of(t, i), options_of(t, i)),
                 testing::kBatchScoreTolerance);
    }
  }
}

}  // namespace
}  // namespace runnel
