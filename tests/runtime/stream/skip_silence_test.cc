// Silence that is not computed: what is skipped, and that it depends on the audio only.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "encoder/model_file/model_archive.h"
#include "runtime/stream.h"
#include "tests/support/archive_files.h"
#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Append;
using testing::Describe;
using testing::ErrorMessage;
using testing::ExpectSameUtterances;
using testing::kUnlimited;
using testing::NoiseWithPauses;
using testing::Options;
using testing::Tiny;
using testing::UtterancesOf;
using testing::WithEndpoints;

constexpr size_t kPeriod = 40000;  // 2.5 s of sound, 2.5 s of silence

// Silence is what the blank's probability says: nearly every frame with this threshold.
StreamOptions Skipping(StreamOptions options) {
  options = WithEndpoints(options, 0.01);
  options.endpoints.skip_silence = true;
  return options;
}

// The tiny model with cepstral coefficients as features.
std::shared_ptr<const Model> TinyOfMfccs() {
  const testing::TemporaryFolder folder;
  const ModelArchive archive = ReadModelArchive(testing::TinyModelPath());
  nlohmann::json config = nlohmann::json::parse(archive.config_json);
  config["features"]["type"] = "mfcc";
  config["features"]["num_mel_bins"] = 23;
  config["features"]["num_ceps"] = config["encoder"]["input_dim"];
  config["features"]["cepstral_lifter"] = 22.0;
  testing::WriteArchive(folder.File("m.pt"), archive.tensors,
                        {{"runnel.json", config.dump()}, {"units.txt", archive.units_text}});
  return Model::Load(folder.File("m.pt"));
}

int64_t NumChunks(const std::vector<float>& samples, const StreamOptions& options,
                  const std::shared_ptr<const Model>& model = Tiny()) {
  Stream stream(model, options);
  int64_t count = 0;
  for (size_t at = 0; at < samples.size(); at += 3200) {
    stream.AcceptSamples(samples.data() + at, 3200);
    while (DecodeChunks({&stream}) > 0) ++count;
  }
  return count;
}

TEST(SkipSilenceTest, SkippedSilenceIsNotComputed) {
  const std::vector<float> samples = NoiseWithPauses(320000, 14, kPeriod);
  StreamOptions options = Skipping(Options(4, 8));
  const int64_t skipping = NumChunks(samples, options);
  options.endpoints.skip_silence = false;
  EXPECT_LT(skipping, NumChunks(samples, options) * 7 / 10);
  EXPECT_GT(skipping, NumChunks(samples, options) * 3 / 10);
}

TEST(SkipSilenceTest, SoundThatIsLittleLouderEndsTheSilence) {
  for (const std::shared_ptr<const Model>& model : {Tiny(), TinyOfMfccs()}) {
    std::mt19937_64 random(19);
    std::normal_distribution<float> even(0, 0.01F);
    std::vector<float> samples(160000);
    for (float& sample : samples) sample = even(random);
    const StreamOptions options = Skipping(Options(4, 8));
    const int64_t num_quiet = NumChunks(samples, options, model);
    for (size_t i = 96000; i < samples.size(); ++i) samples[i] *= 2.5F;  // 8 dB
    EXPECT_GT(NumChunks(samples, options, model), num_quiet + 4);
  }
}

// After each pause as many frames more are computed as the lead is longer.
TEST(SkipSilenceTest, TheLeadIsComputed) {
  const std::vector<float> samples = NoiseWithPauses(320000, 14, kPeriod);
  constexpr int64_t kPauses = 3;  // that are followed by sound
  const auto num_chunks = [&](double lead_s) {
    StreamOptions options = Skipping(Options(1, 8));
    options.endpoints.skip_silence_lead_s = lead_s;
    return NumChunks(samples, options);
  };
  constexpr int64_t kChunks = 12;  // of 40 ms, in the half second more
  EXPECT_NEAR(num_chunks(0.6) - num_chunks(0.1), kPauses * kChunks, 2 * kPauses);
  EXPECT_NEAR(num_chunks(1.1) - num_chunks(0.6), kPauses * kChunks, 2 * kPauses);
  EXPECT_NE(ErrorMessage<std::invalid_argument>([&] {
              num_chunks(10.5);
            }).find("skip_silence_lead_s is 10.5, expected 0.1 to 10 s"),
            std::string::npos);
}

TEST(SkipSilenceTest, SkippingDependsOnTheAudioOnly) {
  constexpr uint64_t kSeed = 151;
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (StreamOptions options :
       {Skipping(Options(4, 8)), Skipping(Options(16, kUnlimited, SearchMethod::kPrefixBeam)),
        Skipping(Options(1, 3))}) {
    for (const int sample_rate_hz : {16000, 8000}) {
      options.sample_rate_hz = sample_rate_hz;
      SCOPED_TRACE(Describe(options) + ", rate " + std::to_string(sample_rate_hz));
      const std::vector<float> samples = NoiseWithPauses(200000, random(), kPeriod);
      const std::vector<Utterance> expected = UtterancesOf(samples, options);
      ASSERT_GE(expected.size(), 3U);
      Stream stream(Tiny(), options);
      std::vector<Utterance> taken;
      for (size_t at = 0; at < samples.size();) {
        const size_t count = std::min(samples.size() - at, 1 + random() % 9000);
        stream.AcceptSamples(samples.data() + at, count);
        at += count;
        if (random() % 2 == 0) stream = Stream::Restore(Tiny(), stream.Snapshot());
        while (DecodeChunks({&stream}) > 0) {
          if (random() % 4 == 0) stream = Stream::Restore(Tiny(), stream.Snapshot());
        }
        Append(&taken, stream.TakeUtterances());
      }
      stream.Finish();
      stream.Decode();
      Append(&taken, stream.TakeUtterances());
      ExpectSameUtterances(taken, expected);
    }
  }
}

// FinalizeUtterance while silence is skipped, also when the sound has just begun: the copy that it
// decodes may search frames that the stream computes later.
TEST(SkipSilenceTest, NoSoundIsInTwoUtterances) {
  int num_with_text = 0;
  for (const int sample_rate_hz : {16000, 8000}) {
    StreamOptions options = Skipping(Options(4, 8));
    options.sample_rate_hz = sample_rate_hz;
    const std::vector<float> samples = NoiseWithPauses(120000, 3, kPeriod);
    Stream stream(Tiny(), options);
    for (size_t at = 0; at < 90000; at += 400) {
      stream.AcceptSamples(samples.data() + at, 400);
      stream.Decode();
      if (at < 78000) continue;
      SCOPED_TRACE("rate " + std::to_string(sample_rate_hz) + ", at " + std::to_string(at));
      Stream copy = stream;
      copy.TakeUtterances();
      copy.FinalizeUtterance();
      copy = Stream::Restore(Tiny(), copy.Snapshot());
      const std::vector<Utterance> before = copy.TakeUtterances();
      copy.AcceptSamples(samples.data() + at + 400, 25000);
      copy.FinalizeUtterance();
      const std::vector<Utterance> after = copy.TakeUtterances();
      if (before.empty() || after.empty()) continue;
      num_with_text += before.back().nbest[0].text.empty() ? 0 : 1;
      EXPECT_GE(after[0].start_ms, before.back().searched_ms);
      EXPECT_GE(after[0].searched_ms, before.back().searched_ms);
    }
  }
  EXPECT_GE(num_with_text, 5);
}

// An utterance that its length ended did not end in silence.
TEST(SkipSilenceTest, SoundIsComputedAfterAnUtteranceThatWasTooLong) {
  std::vector<float> samples(16000 * 8);
  std::mt19937_64 random(17);
  std::normal_distribution<float> even(0, 0.1F);  // no louder than its background
  for (float& sample : samples) sample = even(random);
  for (const int64_t chunk_size : {1, 3, 4, 16}) {
    SCOPED_TRACE("C " + std::to_string(chunk_size));
    std::array<size_t, 2> num_chunks{};
    for (const bool skips : {false, true}) {
      StreamOptions options = Options(chunk_size, 8);
      options.endpoints.enabled = true;
      options.endpoints.rules = {{{false, 1000, 0}, {true, 1000, 0}, {false, 0, 2.4}}};
      options.endpoints.skip_silence = skips;
      Stream stream(Tiny(), options);
      stream.AcceptSamples(samples.data(), samples.size());
      stream.Finish();
      while (DecodeChunks({&stream}) > 0) ++num_chunks[skips ? 1 : 0];
    }
    EXPECT_EQ(num_chunks[1], num_chunks[0]);
  }
}

TEST(SkipSilenceTest, AfterSkippedSilenceTheStreamIsLikeANewOne) {
  // One pause. What follows equals a new stream that begins shortly before the sound does.
  std::vector<float> samples = NoiseWithPauses(120000, 16, kPeriod);
  const StreamOptions options = Skipping(Options(4, kUnlimited));
  const std::vector<Utterance> all = UtterancesOf(samples, options);
  const auto first = std::find_if(
      all.begin(), all.end(), [](const Utterance& utterance) { return utterance.start_ms > 4000; });
  ASSERT_NE(first, all.end());
  ASSERT_GT(first, all.begin());
  // Encoder frames of 640 samples; the sound begins after 5 s. Some beginning gives the same text
  // at the same times.
  bool is_like_a_new_one = false;
  for (int64_t frame = 105; frame <= 125; ++frame) {
    const std::vector<Utterance> fresh =
        UtterancesOf({samples.begin() + 640 * frame, samples.end()}, options);
    const double shift = 40.0 * static_cast<double>(frame);
    is_like_a_new_one = is_like_a_new_one || (fresh[0].nbest[0].text == first->nbest[0].text &&
                                              fresh[0].start_ms + shift == first->start_ms &&
                                              fresh[0].nbest[0].score == first->nbest[0].score);
  }
  EXPECT_TRUE(is_like_a_new_one);
}

}  // namespace
}  // namespace runnel
