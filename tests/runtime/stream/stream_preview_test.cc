// Stream::Preview: copies that are read and thrown away.
#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/stream.h"
#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::DecodeAtOnce;
using testing::ExpectSame;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;

TEST(StreamPreviewTest, APreviewIsFinalWhenItsAudioIsDecoded) {
  const std::vector<float> samples = NoiseOfChangingLevel(32000, 15);
  Stream stream(Tiny(), Options(1, 3, SearchMethod::kPrefixBeam));
  int num_without_frames = 0;
  for (size_t at = 0; at < samples.size(); at += 160) {
    stream.AcceptSamples(samples.data() + at, 160);
    stream.Decode();
    Stream preview = stream.Preview(0);
    num_without_frames += preview.ChunkReady() ? 0 : 1;
    preview.Decode();
    EXPECT_TRUE(preview.IsFinal());
    EXPECT_EQ(preview.StableTextSize(), preview.Text().size());
    EXPECT_EQ(preview.TakeUtterances().size(), 1U);
  }
  EXPECT_GT(num_without_frames, 0);
}

// As before Finish: its text begins with the stable text of the stream.
TEST(StreamPreviewTest, AfterFinishAPreviewHasTheRestOfTheAudio) {
  const std::vector<float> samples = NoiseOfChangingLevel(32000, 17);
  Stream stream(Tiny(), testing::WithEndpoints(Options(4, 8)));
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  do {
    const std::string stable = stream.Text().substr(0, stream.StableTextSize());
    Stream preview = stream.Preview(2);
    EXPECT_EQ(testing::ErrorMessage<std::invalid_argument>([&] { preview.Snapshot(); }),
              "Snapshot of a preview");
    preview.Decode();
    EXPECT_TRUE(preview.IsFinal());
    EXPECT_EQ(preview.utterance_index(), stream.utterance_index());
    EXPECT_EQ(preview.Text().substr(0, stable.size()), stable);
  } while (DecodeChunks({&stream}) > 0);
  EXPECT_GT(stream.utterance_index(), 0);
}

TEST(StreamPreviewTest, APreviewIsOnlyToBeRead) {
  const std::vector<float> samples = NoiseOfChangingLevel(16000, 16);
  Stream stream(Tiny(), Options(16, 16));
  stream.AcceptSamples(samples.data(), 9000);
  Stream preview = stream.Preview(2);
  EXPECT_TRUE(preview.finished());
  EXPECT_EQ(testing::ErrorMessage<std::invalid_argument>([&] { preview.Snapshot(); }),
            "Snapshot of a preview");
  EXPECT_EQ(testing::ErrorMessage<std::invalid_argument>(
                [&] { preview.AcceptSamples(samples.data(), 1); }),
            "AcceptSamples on a preview");
  Stream same = preview;
  same.Finish();
  same.Decode();
  preview.Decode();
  ExpectSame(same.NBest(5), preview.NBest(5));
  preview.Reset();  // an ordinary stream again
  EXPECT_FALSE(preview.finished());
  preview.AcceptSamples(samples.data(), samples.size());
  preview.Finish();
  preview.Decode();
  ExpectSame(preview.NBest(5), DecodeAtOnce(samples, Options(16, 16)));
}

}  // namespace
}  // namespace runnel
