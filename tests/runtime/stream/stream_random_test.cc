// Random operations on a stream: snapshots between them change nothing, and no audio is searched
// twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runtime/stream.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Append;
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

// A stream, and one with the same operations that is replaced by its restored snapshots.
class Pair {
 public:
  Pair(const StreamOptions& options, std::mt19937_64* random)
      : random_(random), plain_(Tiny(), options), restored_(Tiny(), options) {}

  void Accept(const float* samples, size_t count) {
    plain_.AcceptSamples(samples, count);
    restored_.AcceptSamples(samples, count);
  }

  void Decode() {
    plain_.Decode();
    while (DecodeChunks({&restored_}) > 0) {
      if ((*random_)() % 3 == 0) restored_ = Stream::Restore(Tiny(), restored_.Snapshot());
    }
  }

  void FinalizeUtterance() {
    plain_.FinalizeUtterance();
    restored_.FinalizeUtterance();
  }

  void Preview() {
    Stream preview = restored_.Preview(static_cast<int64_t>((*random_)() % 4));
    preview.Decode();
    EXPECT_TRUE(preview.IsFinal());
  }

  void Finish() {
    plain_.Finish();
    restored_.Finish();
  }

  // Restores, compares, and takes the utterances.
  void Check() {
    restored_ = Stream::Restore(Tiny(), restored_.Snapshot());
    EXPECT_EQ(restored_.TextSince(0), plain_.TextSince(0));
    EXPECT_EQ(restored_.NumStableTokens(), plain_.NumStableTokens());
    EXPECT_EQ(restored_.text_begin(), plain_.text_begin());
    EXPECT_EQ(restored_.ChunkReady(), plain_.ChunkReady());
    EXPECT_EQ(restored_.MinSamplesToChunk(), plain_.MinSamplesToChunk());
    std::vector<Utterance> more = plain_.TakeUtterances();
    testing::ExpectSameUtterances(restored_.TakeUtterances(), more);
    Append(&utterances_, more);
  }

  const std::vector<Utterance>& utterances() const { return utterances_; }

 private:
  std::mt19937_64* random_;
  Stream plain_;
  Stream restored_;
  std::vector<Utterance> utterances_;
};

TEST(StreamRandomTest, SnapshotsChangeNothingAndNoAudioIsSearchedTwice) {
  constexpr uint64_t kFirstSeed = 1000;
  size_t num_utterances = 0;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 80; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Pair pair(RandomOptions(&random), &random);
    const size_t num_samples = 40000 + random() % 60000;
    const std::vector<float> samples =
        testing::NoiseWithPauses(num_samples, random(), /*period=*/16000);
    for (size_t at = 0; at < samples.size();) {
      const size_t count = std::min(samples.size() - at, size_t{1} + random() % 6000);
      pair.Accept(samples.data() + at, count);
      at += count;
      if (random() % 3 != 0) pair.Decode();
      if (random() % 6 == 0) pair.FinalizeUtterance();
      if (random() % 6 == 0) pair.Preview();
      if (random() % 2 == 0) pair.Check();
    }
    pair.Finish();
    pair.Check();
    pair.Decode();
    pair.Check();
    const std::vector<Utterance>& utterances = pair.utterances();
    num_utterances += utterances.size();
    for (size_t i = 1; i < utterances.size(); ++i) {
      EXPECT_EQ(utterances[i].index, static_cast<int64_t>(i));
      EXPECT_GE(utterances[i].start_ms, utterances[i - 1].searched_ms);
      EXPECT_GE(utterances[i].searched_ms, utterances[i - 1].searched_ms);
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(num_utterances, 500U);
}

}  // namespace
}  // namespace runnel
