// Snapshots of streams with hotwords and a language model, which other streams may have, too.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/scoring/language_model_scorer.h"
#include "runtime/stream.h"
#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/random_audio.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::ErrorMessage;
using testing::ExpectSame;
using testing::NoiseOfChangingLevel;
using testing::Tiny;

std::shared_ptr<const LanguageModel> Unigrams(const std::string& line) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("lm.arpa");
  testing::WriteBytes(path, "\\data\\\nngram 1=1\n\n\\1-grams:\n" + line + "\n\n\\end\\\n");
  return LanguageModel::Load(path);
}

class SnapshotScorersTest : public ::testing::Test {
 protected:
  SnapshotScorersTest() {
    options_.model = Unigrams("-1\ta");
    options_.level = LanguageModelLevel::kToken;
    options_.weight = 0.5;
  }

  static std::shared_ptr<const Hotwords> Phrases(const std::string& list) {
    return std::make_shared<const Hotwords>(list, Tiny()->tokens(), 1.0F, "test");
  }

  // What a program's streams search with.
  SearchOptions Search() const {
    SearchOptions search;
    search.method = SearchMethod::kPrefixBeam;
    search.hotwords = Phrases("ad\nbad :2\n");
    search.language_model = PrepareLanguageModel(options_, Tiny()->tokens());
    return search;
  }

  Stream Begun(const SearchOptions& search) const {
    StreamOptions options = testing::Options(2, 3);
    options.search = search;
    Stream stream(Tiny(), options);
    stream.AcceptSamples(samples_.data(), samples_.size() / 2);
    stream.Decode();
    return stream;
  }

  void ExpectSameEnd(Stream actual, Stream expected) const {
    for (Stream* stream : {&actual, &expected}) {
      stream->AcceptSamples(samples_.data() + samples_.size() / 2, samples_.size() / 2);
      stream->Finish();
      stream->Decode();
    }
    ExpectSame(actual.NBest(20), expected.NBest(20));
  }

  LanguageModelOptions options_;
  const std::vector<float> samples_ = NoiseOfChangingLevel(60000, 3);
};

TEST_F(SnapshotScorersTest, EqualOnesAreSharedAndOthersAreTheStreamsOwn) {
  const Stream stream = Begun(Search());
  RestoreOptions given;
  given.shared = Search();
  const Stream same = Stream::Restore(Tiny(), stream.Snapshot(), given);
  EXPECT_EQ(same.options().search.hotwords, given.shared.hotwords);
  EXPECT_EQ(same.options().search.language_model, given.shared.language_model);
  ExpectSameEnd(same, stream);

  options_.weight = 2;
  given.shared = Search();
  given.shared.hotwords = Phrases("cab\n");
  const Stream own = Stream::Restore(Tiny(), stream.Snapshot(), given);
  EXPECT_EQ(own.options().search.hotwords->text(), stream.options().search.hotwords->text());
  EXPECT_EQ(own.options().search.language_model->options().weight, 0.5);
  ExpectSameEnd(own, stream);
}

TEST_F(SnapshotScorersTest, AStreamWithoutThemIgnoresThem) {
  RestoreOptions given;
  given.shared = Search();
  SearchOptions plain;
  for (const SearchMethod method : {SearchMethod::kGreedy, SearchMethod::kPrefixBeam}) {
    plain.method = method;
    const Stream stream = Begun(plain);
    const Stream restored = Stream::Restore(Tiny(), stream.Snapshot(), given);
    EXPECT_EQ(restored.options().search.hotwords, nullptr);
    EXPECT_EQ(restored.options().search.language_model, nullptr);
    ExpectSameEnd(restored, stream);
  }
}

TEST_F(SnapshotScorersTest, AnotherLanguageModelIsNamed) {
  const std::string snapshot = Begun(Search()).Snapshot();
  const std::string expected =
      "snapshot is of another language model: " + options_.model->fingerprint() + ", expected ";
  const auto error = [&](const RestoreOptions& given) {
    return ErrorMessage<SnapshotError>([&] { Stream::Restore(Tiny(), snapshot, given); });
  };
  EXPECT_EQ(error({}), expected + "none");
  options_.model = Unigrams("-2\ta");
  RestoreOptions given;
  given.shared = Search();
  EXPECT_EQ(error(given), expected + options_.model->fingerprint());
  given.shared = {};
  given.language_model = options_.model;
  EXPECT_EQ(error(given), expected + options_.model->fingerprint());
}

}  // namespace
}  // namespace runnel
