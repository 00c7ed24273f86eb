#include "tests/support/random_operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel::testing {
namespace {

// Tokens or words, none of which overlap or end later.
template <class Spoken>
void ExpectInOrder(const std::vector<Spoken>& all, double latest_ms) {
  double end_ms = 0;
  for (const Spoken& one : all) {
    EXPECT_GE(one.start_ms, end_ms);
    EXPECT_GE(one.end_ms, one.start_ms);
    end_ms = one.end_ms;
  }
  EXPECT_LE(end_ms, latest_ms);
}

// A stream, and one with the same operations that is replaced by its copies and restored snapshots.
class Pair {
 public:
  Pair(const std::shared_ptr<const Model>& model, const StreamOptions& options,
       std::mt19937_64* random)
      : random_(random), model_(model), plain_(model, options), replaced_(model, options) {}

  void Accept(const float* samples, size_t count) {
    plain_.AcceptSamples(samples, count);
    replaced_.AcceptSamples(samples, count);
  }

  void Decode() {
    plain_.Decode();
    while (DecodeChunks({&replaced_}) > 0) Replace();
  }

  void FinalizeUtterance() {
    plain_.FinalizeUtterance();
    replaced_.FinalizeUtterance();
  }

  void Preview() {
    const std::string before = replaced_.Snapshot();
    Stream preview = replaced_.Preview(static_cast<int64_t>((*random_)() % 4));
    preview.Decode();
    EXPECT_TRUE(preview.IsFinal());
    EXPECT_TRUE(replaced_.Snapshot() == before) << "a preview changes its stream";
  }

  void Finish() {
    plain_.Finish();
    replaced_.Finish();
  }

  // Restores, compares, and takes the utterances.
  void Check() {
    replaced_ = Stream::Restore(model_, replaced_.Snapshot());
    EXPECT_EQ(replaced_.TextSince(0), plain_.TextSince(0));
    EXPECT_EQ(replaced_.NumStableTokens(), plain_.NumStableTokens());
    EXPECT_EQ(replaced_.text_begin(), plain_.text_begin());
    EXPECT_EQ(replaced_.ChunkReady(), plain_.ChunkReady());
    EXPECT_EQ(replaced_.MinSamplesToChunk(), plain_.MinSamplesToChunk());
    const double accepted_ms =
        1000.0 * static_cast<double>(plain_.num_samples()) / plain_.options().sample_rate_hz;
    EXPECT_LE(plain_.EndOfFramesMs(plain_.num_encoder_frames()), accepted_ms);
    ExpectInOrder(plain_.TokensSince(0), accepted_ms);
    std::vector<Utterance> more = plain_.TakeUtterances();
    for (const Utterance& utterance : more) {
      EXPECT_LE(utterance.start_ms, utterance.end_ms);
      EXPECT_LE(utterance.end_ms, utterance.searched_ms);
      EXPECT_LE(utterance.searched_ms, accepted_ms);
      for (const Hypothesis& hypothesis : utterance.nbest) {
        ExpectInOrder(hypothesis.tokens, utterance.searched_ms);
        ExpectInOrder(hypothesis.words, utterance.searched_ms);
      }
    }
    ExpectSameUtterances(replaced_.TakeUtterances(), more);
    Append(&utterances_, more);
  }

  const std::vector<Utterance>& utterances() const { return utterances_; }

 private:
  void Replace() {
    switch ((*random_)() % 6) {
      case 0:
      case 1:
        replaced_ = Stream::Restore(model_, replaced_.Snapshot());
        break;
      case 2:
        replaced_ = Stream(replaced_);
        break;
      default:
        break;
    }
  }

  std::mt19937_64* random_;
  std::shared_ptr<const Model> model_;
  Stream plain_;
  Stream replaced_;
  std::vector<Utterance> utterances_;
};

}  // namespace

std::vector<Utterance> OperateAtRandom(const std::shared_ptr<const Model>& model,
                                       const StreamOptions& options, std::mt19937_64* random) {
  Pair pair(model, options, random);
  const size_t num_samples = 40000 + (*random)() % 60000;
  const std::vector<float> samples = NoiseWithPauses(num_samples, (*random)(), /*period=*/16000);
  for (size_t at = 0; at < samples.size();) {
    const size_t count = std::min(samples.size() - at, size_t{1} + (*random)() % 6000);
    pair.Accept(samples.data() + at, count);
    at += count;
    if ((*random)() % 3 != 0) pair.Decode();
    if ((*random)() % 6 == 0) pair.FinalizeUtterance();
    if ((*random)() % 6 == 0) pair.Preview();
    if ((*random)() % 2 == 0) pair.Check();
  }
  pair.Finish();
  pair.Check();
  pair.Decode();
  pair.Check();
  std::vector<Utterance> utterances = pair.utterances();
  for (size_t i = 1; i < utterances.size(); ++i) {
    EXPECT_EQ(utterances[i].index, static_cast<int64_t>(i));
    // After FinalizeUtterance frames are searched again, and tokens may move by 3 of them.
    if (!utterances[i - 1].nbest.front().words.empty()) {  // without, it starts where it ends
      EXPECT_GE(utterances[i].start_ms, utterances[i - 1].start_ms - 120);
    }
    EXPECT_GE(utterances[i].searched_ms, utterances[i - 1].searched_ms);
  }
  return utterances;
}

}  // namespace runnel::testing
