// Random operations on a stream: snapshots between them change nothing, and no audio is searched
// twice.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runtime/stream.h"
#include "tests/support/random_operations.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::kUnlimited;
using testing::kWhole;
using testing::Options;
using testing::Tiny;

template <class T>
T OneOf(const std::vector<T>& values, std::mt19937_64* random) {
  return values[(*random)() % values.size()];
}

StreamOptions RandomOptions(std::mt19937_64* random) {
  const auto chunk_size = OneOf<int64_t>({1, 4, 16, kWhole}, random);
  const auto left_context = OneOf<int64_t>({0, 8, kUnlimited}, random);
  const SearchMethod method =
      OneOf<SearchMethod>({SearchMethod::kGreedy, SearchMethod::kPrefixBeam}, random);
  StreamOptions options = testing::WithEndpoints(
      Options(chunk_size, chunk_size == kWhole ? kUnlimited : left_context, method),
      OneOf<double>({0.01, 0.15, 0.8}, random));
  options.endpoints.enabled = (*random)() % 4 != 0;
  options.endpoints.skip_silence = (*random)() % 2 == 0;
  options.endpoints.reset_encoder = (*random)() % 2 == 0;
  options.sample_rate_hz = OneOf<int>({16000, 8000, 44100}, random);
  return options;
}

TEST(StreamRandomTest, SnapshotsChangeNothingAndNoAudioIsSearchedTwice) {
  constexpr uint64_t kFirstSeed = 1000;
  size_t num_utterances = 0;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    num_utterances += testing::OperateAtRandom(Tiny(), RandomOptions(&random), &random).size();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(num_utterances, 500U);
}

}  // namespace
}  // namespace runnel
