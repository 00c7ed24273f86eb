// Bytes that are not a snapshot of this model's streams give one clear line.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/search/ctc_search.h"
#include "runtime/snapshot/snapshot_format.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/stream.h"
#include "runtime/word_list.h"
#include "tests/support/archive_files.h"
#include "tests/support/error_message.h"
#include "tests/support/forged_counters.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;

std::shared_ptr<const WordList> Words(const std::string& text) {
  return std::make_shared<const WordList>(text, Tiny()->tokens(), "words");
}

// A snapshot of a stream of the tiny model in the middle of its audio.
std::string SnapshotWith(const StreamOptions& options) {
  Stream stream(Tiny(), options);
  const std::vector<float> samples = NoiseOfChangingLevel(30000, 1);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Decode();
  return stream.Snapshot();
}

StreamOptions Beam(const std::shared_ptr<const WordList>& words = nullptr, int rate_hz = 16000) {
  StreamOptions options = Options(2, 3, SearchMethod::kPrefixBeam);
  options.search.word_list = words;
  options.sample_rate_hz = rate_hz;
  return options;
}

std::string Error(const std::string& bytes,
                  const std::shared_ptr<const WordList>& words = nullptr) {
  return ErrorMessage<SnapshotError>([&] { Stream::Restore(Tiny(), bytes, {words, nullptr}); });
}

std::string ContentsOf(const std::string& snapshot) {
  return snapshot.substr(kSnapshotHeaderSize,
                         snapshot.size() - kSnapshotHeaderSize - kSnapshotChecksumSize);
}

TEST(SnapshotErrorTest, OtherBytesAreNoSnapshot) {
  EXPECT_EQ(Error(""), "not a snapshot of a stream");
  EXPECT_EQ(Error("RIFF"), "not a snapshot of a stream");
  EXPECT_EQ(Error(std::string(1000, '\0')), "not a snapshot of a stream");
  ErrorMessage<std::invalid_argument>([] { Stream::Restore(nullptr, "RNLSTATE"); });
}

TEST(SnapshotErrorTest, EveryTruncationIsNoticed) {
  const std::string bytes = SnapshotWith(Beam());
  for (size_t size = 1; size < bytes.size(); ++size) {
    ASSERT_TRUE(Contains(Error(bytes.substr(0, size)), "truncated")) << size;
  }
  EXPECT_TRUE(Contains(Error(bytes + "x"), "corrupt"));
}

TEST(SnapshotErrorTest, EveryByteIsGuarded) {
  const std::string bytes = SnapshotWith(Beam());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
    ASSERT_NE(Error(changed), "") << i;
  }
}

// Sums and products of counters are computed without another look at them.
TEST(SnapshotErrorTest, HugeCountersAreRefusedOrHarmless) {
  const std::vector<float> samples = NoiseOfChangingLevel(30000, 1);
  for (const SearchMethod method : {SearchMethod::kGreedy, SearchMethod::kPrefixBeam}) {
    StreamOptions options = testing::WithEndpoints(Options(2, 1, method));
    options.sample_rate_hz = method == SearchMethod::kGreedy ? 16000 : 8000;
    Stream stream(Tiny(), options);
    stream.AcceptSamples(samples.data(), samples.size());
    stream.Decode();
    stream.FinalizeUtterance();  // utterances that are not taken yet
    stream.AcceptSamples(samples.data(), 9000);
    stream.Decode();
    ASSERT_GT(stream.utterance_index(), 0);
    EXPECT_GT(testing::RefusedCounters(Tiny(), stream), 100);
  }
}

TEST(SnapshotErrorTest, ANewerVersionIsNamed) {
  std::string bytes = SnapshotWith(Beam());
  bytes[8] = static_cast<char>(kSnapshotVersion + 1);
  EXPECT_EQ(Error(bytes),
            "snapshot is of format version 9, which is newer than 8, the newest that this version "
            "of Runnel reads");
  bytes[8] = static_cast<char>(kSnapshotVersion - 1);
  EXPECT_EQ(Error(bytes), "snapshot is of format version 7, expected 8: an older Runnel made it");
}

TEST(SnapshotErrorTest, AnotherModelIsNamed) {
  const std::string bytes = SnapshotWith(Beam());
  const auto error = [&](const std::shared_ptr<const Model>& model) {
    const std::string message = ErrorMessage<SnapshotError>([&] { Stream::Restore(model, bytes); });
    EXPECT_EQ(message, "snapshot is of another model, or of the same one with other options: " +
                           Tiny()->fingerprint() + ", expected " + model->fingerprint());
  };
  error(Model::Load(RUNNEL_SOURCE_DIR "/models/digits/digits.pt"));
  ModelOptions options;
  options.precision = Precision::kInt8;
  error(Model::Load(testing::TinyModelPath(), options));
}

TEST(SnapshotErrorTest, AFingerprintIsOne) {
  const std::string contents = ContentsOf(SnapshotWith(Beam()));
  EXPECT_EQ(Error(SealSnapshot(std::string(31, 'a') + "\n", contents)),
            "snapshot is inconsistent: its model fingerprint is not 32 hexadecimal digits");
}

TEST(SnapshotErrorTest, InconsistentContentsAreDescribed) {
  const std::string contents = ContentsOf(SnapshotWith(Options(2, 3)));
  const auto error = [](const std::string& changed) {
    return Error(SealSnapshot(Tiny()->fingerprint(), changed));
  };
  EXPECT_EQ(error(contents + "x"),
            "snapshot is inconsistent: its contents go on after the last field");
  EXPECT_EQ(error(contents.substr(0, contents.size() - 1)),
            "snapshot is inconsistent: the contents end early");
  std::string changed = contents;  // the last field is the token of the last frame
  changed.replace(changed.size() - 4, 4, "\xFF\xFF\xFF\x7F");
  EXPECT_EQ(
      error(changed),
      "snapshot is inconsistent: token of the last frame is 2147483647; expected the blank or "
      "the last token");
}

std::string Saved(const CtcSearch& search) {
  StateWriter writer;
  search.Save(&writer);
  return writer.Take();
}

// A search finds no token before it has passed those that FinalizeUtterance handed out.
TEST(SnapshotErrorTest, TokensBeforeThoseThatWereHandedOutAreRefused) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 1);
  for (const SearchMethod method : {SearchMethod::kGreedy, SearchMethod::kPrefixBeam}) {
    const StreamOptions options = Options(16, 3, method);
    Stream stream(Tiny(), options);
    stream.AcceptSamples(samples.data(), 14000);
    stream.FinalizeUtterance();
    const std::vector<Utterance> utterances = stream.TakeUtterances();
    ASSERT_EQ(utterances.size(), 1U);
    ASSERT_FALSE(utterances[0].nbest[0].tokens.empty());
    ASSERT_GE(utterances[0].nbest[0].tokens.back().frame, stream.num_encoder_frames());
    const std::string contents = ContentsOf(stream.Snapshot());
    // The search is the last field.
    auto search = MakeCtcSearch(options.search, 7, 0);
    const std::string before = contents.substr(0, contents.size() - Saved(*search).size());
    search->StartUtterance(stream.text_begin());
    EXPECT_NO_THROW(
        Stream::Restore(Tiny(), SealSnapshot(Tiny()->fingerprint(), before + Saved(*search))));
    search->StartUtterance(stream.text_begin() - 1);
    const std::vector<float> log_probs = {-9, -1, -9, -9, -9, -9, -9};
    search->Advance(log_probs.data(), 1);
    EXPECT_EQ(Error(SealSnapshot(Tiny()->fingerprint(), before + Saved(*search))),
              "snapshot is inconsistent: the search has tokens before it has found those that an "
              "utterance ended with");
  }
}

TEST(SnapshotErrorTest, AnotherWordListIsNamed) {
  const auto words = Words("a\nad\nbad\n");
  const auto others = Words("a\nad\nbad\ncab\n");
  const std::string without = SnapshotWith(Beam());
  const std::string with = SnapshotWith(Beam(words));
  EXPECT_NO_THROW(Stream::Restore(Tiny(), with, {Words("bad\nad\n\na\n"), nullptr}));
  EXPECT_EQ(Error(with),
            "snapshot is of another word list: " + words->fingerprint() + ", expected none");
  EXPECT_EQ(Error(with, others), "snapshot is of another word list: " + words->fingerprint() +
                                     ", expected " + others->fingerprint());
  EXPECT_EQ(Error(without, words),
            "snapshot is of another word list: none, expected " + words->fingerprint());
}

// Changed contents under a correct checksum are refused in one line, or give a stream that can be
// used like any other.
TEST(SnapshotErrorTest, AnyContentsAreSafe) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<float> samples = NoiseOfChangingLevel(3000, 2);
  const auto words = Words("a\nad\nbad\ncab\n");
  int num_refused = 0;
  int num_restored = 0;
  for (const StreamOptions& options : {Options(2, 3), Beam(), Beam(words), Beam(nullptr, 8000)}) {
    const std::string contents = ContentsOf(SnapshotWith(options));
    for (int i = 0; i < 1500; ++i) {
      std::string changed = contents;
      const size_t num_changes = 1 + random() % 3;
      for (size_t change = 0; change < num_changes; ++change) {
        // Keys and values are most of the contents; the other fields are at the ends.
        const size_t reach =
            random() % 4 == 0 ? changed.size() : std::min<size_t>(400, changed.size());
        const size_t from_end = random() % reach;
        const size_t at = random() % 2 == 0 ? from_end : changed.size() - 1 - from_end;
        changed[at] = random() % 2 == 0 ? static_cast<char>(random())
                                        : static_cast<char>(changed[at] ^ (1 << random() % 8));
      }
      if (random() % 50 == 0) changed.resize(random() % changed.size());
      try {
        Stream stream = Stream::Restore(Tiny(), SealSnapshot(Tiny()->fingerprint(), changed),
                                        {options.search.word_list, nullptr});
        ++num_restored;
        stream.NBest(30);
        if (!stream.finished()) stream.AcceptSamples(samples.data(), samples.size());
        while (DecodeChunks({&stream}) > 0) {
        }
        stream.Finish();
        while (DecodeChunks({&stream}) > 0) {
        }
        stream.NBest(30);
        stream.TextSince(stream.StableTextSize());
        stream.TokensSince(stream.NumStableTokens());
        stream.Snapshot();
        stream.Reset();
      } catch (const SnapshotError& error) {
        ++num_refused;
        ASSERT_EQ(std::strchr(error.what(), '\n'), nullptr);
      }
    }
  }
  EXPECT_GT(num_refused, 500);
  EXPECT_GT(num_restored, 100);
}

}  // namespace
}  // namespace runnel
