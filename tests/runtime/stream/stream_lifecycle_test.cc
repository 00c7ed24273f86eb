// A stream is a value: copied, moved, reset, and unchanged when a call is refused.
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/stream.h"
#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::DecodeAtOnce;
using testing::Describe;
using testing::ErrorMessage;
using testing::ExpectSame;
using testing::Feed;
using testing::Final;
using testing::NoiseOfChangingLevel;
using testing::OptionGrid;
using testing::Options;
using testing::Results;
using testing::Tiny;

TEST(StreamLifecycleTest, ACopyContinuesOnItsOwn) {
  const std::vector<float> samples = NoiseOfChangingLevel(32000, 8);
  const std::vector<float> others = NoiseOfChangingLevel(32000, 9);
  std::mt19937_64 random(2);
  for (const StreamOptions& options : OptionGrid()) {
    SCOPED_TRACE(Describe(options));
    const Results expected = DecodeAtOnce(samples, options);
    const size_t half = 1 + random() % (samples.size() - 1);
    const std::vector<float> rest(samples.begin() + static_cast<std::ptrdiff_t>(half),
                                  samples.end());
    Stream original(Tiny(), options);
    original.AcceptSamples(samples.data(), half);
    original.Decode();
    const Results middle = original.NBest(5);
    Stream copy = original;
    Stream assigned(Tiny(), Options(2, 2));
    assigned.AcceptSamples(others.data(), others.size());
    assigned.Decode();
    assigned = original;
    Stream elsewhere = original;
    ExpectSame(copy.NBest(5), middle);

    // The copies do not affect each other.
    Feed(&elsewhere, others, 3000, &random);
    ExpectSame(copy.NBest(5), middle);
    Feed(&original, rest, 3000, &random);
    ExpectSame(assigned.NBest(5), middle);
    Feed(&copy, rest, 500, &random);
    Feed(&assigned, rest, 20000, &random);
    ExpectSame(Final(original), expected);
    ExpectSame(Final(copy), expected);
    ExpectSame(Final(assigned), expected);
    EXPECT_EQ(assigned.options().chunk_size, options.chunk_size);

    const Stream finished = copy;
    ExpectSame(Final(finished), expected);
  }
}

TEST(StreamLifecycleTest, SelfAssignmentChangesNothing) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 10);
  Stream stream(Tiny(), Options(4, 8));
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Decode();
  const Results before = stream.NBest(5);
  const Stream& same = stream;
  stream = same;
  ExpectSame(stream.NBest(5), before);
}

TEST(StreamLifecycleTest, ResetIsTheStateAfterConstruction) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 11);
  const std::vector<float> before = NoiseOfChangingLevel(17000, 12);
  for (const StreamOptions& options : OptionGrid()) {
    SCOPED_TRACE(Describe(options));
    const Results expected = DecodeAtOnce(samples, options);
    Stream stream(Tiny(), options);
    for (const bool finish : {false, true}) {
      stream.AcceptSamples(before.data(), before.size());
      if (finish) stream.Finish();
      stream.Decode();
      stream.Reset();
      EXPECT_EQ(stream.num_samples(), 0);
      EXPECT_EQ(stream.num_encoder_frames(), 0);
      EXPECT_EQ(stream.Text(), "");
      EXPECT_FALSE(stream.ChunkReady());
      EXPECT_FALSE(stream.IsFinal());
    }
    stream.AcceptSamples(samples.data(), samples.size());
    stream.Finish();
    stream.Decode();
    ExpectSame(Final(stream), expected);
  }
}

TEST(StreamLifecycleTest, MovedStreamsContinue) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 13);
  const StreamOptions options = Options(3, 7, SearchMethod::kPrefixBeam);
  Stream first(Tiny(), options);
  first.AcceptSamples(samples.data(), 9000);
  first.Decode();
  Stream second = std::move(first);
  second.AcceptSamples(samples.data() + 9000, 5000);
  second.Decode();
  Stream third(Tiny(), Options(1, 0));
  third = std::move(second);
  third.AcceptSamples(samples.data() + 14000, samples.size() - 14000);
  third.Finish();
  third.Decode();
  ExpectSame(Final(third), DecodeAtOnce(samples, options));
  first = third;  // a moved-from stream may be assigned to
  ExpectSame(Final(first), Final(third));
}

TEST(StreamLifecycleTest, SamplesThatAreRefusedChangeNothing) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 14);
  const Results expected = DecodeAtOnce(samples, Options(4, 8));
  Stream stream(Tiny(), Options(4, 8));
  stream.AcceptSamples(samples.data(), 12000);
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -101.0F}) {
    std::vector<float> bad(samples.begin() + 12000, samples.end());
    bad[777] = value;
    ErrorMessage<std::invalid_argument>([&] { stream.AcceptSamples(bad.data(), bad.size()); });
  }
  ErrorMessage<std::invalid_argument>([&] { stream.AcceptSamples(nullptr, 5); });
  EXPECT_EQ(stream.num_samples(), 12000);
  stream.AcceptSamples(nullptr, 0);
  stream.AcceptSamples(samples.data() + 12000, samples.size() - 12000);
  stream.Finish();
  ErrorMessage<std::invalid_argument>([&] { stream.AcceptSamples(samples.data(), 1); });
  stream.Finish();  // once more changes nothing
  stream.Decode();
  ErrorMessage<std::invalid_argument>([&] { stream.AcceptSamples(samples.data(), 1); });
  ExpectSame(Final(stream), expected);
}

}  // namespace
}  // namespace runnel
