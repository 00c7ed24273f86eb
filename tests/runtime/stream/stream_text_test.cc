// Text that is read piece by piece, and streams restricted to a word list.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/audio_source.h"
#include "runtime/model.h"
#include "runtime/stream.h"
#include "runtime/word_list.h"
#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"

namespace runnel {
namespace {

using testing::ErrorMessage;
using testing::NoiseOfChangingLevel;

constexpr char kDigitsFolder[] = RUNNEL_SOURCE_DIR "/models/digits/";

const std::shared_ptr<const Model>& Tiny() {
  static const auto model = Model::Load(RUNNEL_SOURCE_DIR "/tests/golden/encoder/tiny.pt");
  return model;
}

const std::shared_ptr<const Model>& Digits() {
  static const auto model = Model::Load(std::string(kDigitsFolder) + "digits.pt");
  return model;
}

const std::set<std::string> kTinyWords = {"a", "ad", "bad", "cab", "dada", "é"};

std::shared_ptr<const WordList> TinyWordList() {
  std::string text;
  for (const std::string& word : kTinyWords) text += word + "\n";
  return std::make_shared<const WordList>(text, Tiny()->tokens(), "words");
}

StreamOptions Options(int64_t chunk_size, SearchMethod method,
                      std::shared_ptr<const WordList> word_list = nullptr) {
  StreamOptions options;
  options.chunk_size = chunk_size;
  options.search.method = method;
  options.search.word_list = std::move(word_list);
  return options;
}

std::vector<StreamOptions> Searches(int64_t chunk_size,
                                    const std::shared_ptr<const WordList>& word_list) {
  return {Options(chunk_size, SearchMethod::kGreedy),
          Options(chunk_size, SearchMethod::kPrefixBeam),
          Options(chunk_size, SearchMethod::kPrefixBeam, word_list)};
}

// Reads new text, keeps stable text, and checks both against the whole text.
class Reader {
 public:
  void Read(const Stream& stream, std::mt19937* random) {
    const std::string text = stream.Text();
    const size_t stable = stream.StableTextSize();
    ASSERT_GE(stable, kept_.size());
    ASSERT_LE(stable, text.size());
    ASSERT_EQ(kept_ + stream.TextSince(kept_.size()), text);
    const size_t position = (*random)() % (stable + 1);
    ASSERT_EQ(stream.TextSince(position), text.substr(position));
    kept_ += stream.TextSince(kept_.size()).substr(0, stable - kept_.size());
    if (!stream.IsFinal()) {
      for (const Hypothesis& hypothesis : stream.NBest(100)) {
        ASSERT_EQ(hypothesis.text.substr(0, stable), kept_);
      }
    }
    ErrorMessage<std::invalid_argument>([&] { stream.TextSince(stable + 1); });
    ReadTokens(stream, random);
  }
  const std::string& kept() const { return kept_; }

 private:
  void ReadTokens(const Stream& stream, std::mt19937* random) {
    const std::vector<Token> tokens = stream.Best().tokens;
    const size_t stable = stream.NumStableTokens();
    ASSERT_GE(stable, kept_ids_.size());
    ASSERT_LE(stable, tokens.size());
    const size_t first = (*random)() % (stable + 1);
    const std::vector<Token> last = stream.TokensSince(first);
    ASSERT_EQ(last.size(), tokens.size() - first);
    for (size_t i = 0; i < last.size(); ++i) {
      const Token& expected = tokens[first + i];
      ASSERT_EQ(std::tie(last[i].id, last[i].start_ms, last[i].end_ms, last[i].confidence),
                std::tie(expected.id, expected.start_ms, expected.end_ms, expected.confidence));
    }
    for (size_t i = 0; i < stable; ++i) {
      if (i == kept_ids_.size()) kept_ids_.push_back(tokens[i].id);
      ASSERT_EQ(tokens[i].id, kept_ids_[i]);
    }
    ErrorMessage<std::invalid_argument>([&] { stream.TokensSince(stable + 1); });
  }

  std::string kept_;
  std::vector<int32_t> kept_ids_;
};

void CheckReading(const std::shared_ptr<const Model>& model, const std::vector<float>& samples,
                  const StreamOptions& options, std::mt19937* random, std::string* kept) {
  Stream stream(model, options);
  Reader reader;
  reader.Read(stream, random);
  for (size_t at = 0; at < samples.size();) {
    const size_t count = std::min(samples.size() - at, size_t{1} + (*random)() % 4000);
    stream.AcceptSamples(samples.data() + at, count);
    at += count;
    stream.Decode();
    if ((*random)() % 8 == 0) stream = Stream(stream);  // a copy reads on where this one was
    reader.Read(stream, random);
  }
  *kept = reader.kept();
  if (options.search.method == SearchMethod::kGreedy) {
    EXPECT_EQ(*kept, stream.Text());
  }
  stream.Finish();
  reader.Read(stream, random);
  stream.Decode();
  reader.Read(stream, random);
  EXPECT_EQ(reader.kept(), stream.Text());
  stream.Reset();
  EXPECT_EQ(stream.StableTextSize(), 0U);
  EXPECT_EQ(stream.TextSince(0), "");
}

TEST(StreamTextTest, WhatIsStableNeverChangesOnNoise) {
  size_t total = 0;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    for (const StreamOptions& options : Searches(1 + seed % 4, TinyWordList())) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::mt19937 random(seed);
      std::string kept;
      CheckReading(Tiny(), NoiseOfChangingLevel(60000, seed), options, &random, &kept);
      total += kept.size();
    }
  }
  EXPECT_GT(total, 200U);
}

std::vector<float> ReadAudio(const std::string& path) {
  AudioSource audio(path, 16000);
  std::vector<float> samples;
  std::vector<float> block(4000);
  while (const size_t count = audio.Read(block.data(), block.size())) {
    samples.insert(samples.end(), block.begin(),
                   block.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return samples;
}

// The recordings that ship with the digit model: (text, samples).
std::vector<std::pair<std::string, std::vector<float>>> Samples() {
  std::vector<std::pair<std::string, std::vector<float>>> found;
  std::ifstream list(std::string(kDigitsFolder) + "samples/wav.scp");
  std::ifstream texts(std::string(kDigitsFolder) + "samples/text");
  std::string id;
  std::string path;
  std::string text;
  while (list >> id >> path && std::getline(texts, text)) {
    found.emplace_back(text.substr(id.size() + 1),
                       ReadAudio(std::string(RUNNEL_SOURCE_DIR) + "/" + path));
  }
  return found;
}

TEST(StreamTextTest, WhatIsStableNeverChangesOnSpeech) {
  const auto word_list =
      WordList::Read(std::string(kDigitsFolder) + "words.txt", Digits()->tokens());
  const auto samples = Samples();
  ASSERT_GE(samples.size(), 6U);
  std::mt19937 random(3);
  for (const auto& [text, audio] : samples) {
    for (const StreamOptions& options : Searches(4, word_list)) {
      SCOPED_TRACE(text);
      std::string kept;
      CheckReading(Digits(), audio, options, &random, &kept);
      EXPECT_EQ(kept, text.substr(0, kept.size()));
      // With a word list, all but the last letters are stable.
      EXPECT_TRUE(options.search.word_list == nullptr || kept.size() + 6 >= text.size()) << kept;
    }
  }
}

TEST(StreamTextTest, OnlyListedWordsComeOut) {
  const auto word_list = TinyWordList();
  std::set<std::string> seen;
  bool was_incomplete = false;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<float> samples = NoiseOfChangingLevel(20000 + 1000 * seed, seed);
    const int64_t chunk_size = seed % 2 == 0 ? 1 : 1 + static_cast<int64_t>(seed);
    Stream stream(Tiny(), Options(chunk_size, SearchMethod::kPrefixBeam, word_list));
    stream.AcceptSamples(samples.data(), samples.size());
    stream.Decode();
    for (const Word& word : stream.Best().words) {
      if (kTinyWords.count(word.text) == 0) was_incomplete = true;
    }
    // With chunks of one frame nothing is left to decode: Finish alone makes the results final.
    stream.Finish();
    EXPECT_TRUE(chunk_size > 1 || stream.IsFinal());
    stream.Decode();
    ASSERT_TRUE(stream.IsFinal());
    for (const Hypothesis& hypothesis : stream.NBest(8)) {
      for (const Word& word : hypothesis.words) {
        EXPECT_EQ(kTinyWords.count(word.text), 1U) << word.text;
        seen.insert(word.text);
      }
    }
  }
  EXPECT_TRUE(was_incomplete);
  EXPECT_GE(seen.size(), 3U);
}

TEST(StreamTextTest, HypothesesDifferInText) {
  StreamOptions options = Options(16, SearchMethod::kPrefixBeam);
  options.search.beam_size = 16;
  Stream stream(Digits(), options);
  AudioSource audio(std::string(kDigitsFolder) + "samples/alicia_countdown.flac",
                    Digits()->sample_rate_hz());
  std::vector<float> samples(static_cast<size_t>(Digits()->sample_rate_hz()) * 30);
  samples.resize(audio.Read(samples.data(), samples.size()));
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  stream.Decode();
  // The digits' word boundary may end a text or not: more sequences than texts.
  const std::vector<Hypothesis> all = stream.NBest(options.search.beam_size);
  EXPECT_LT(all.size(), 16U);
  std::set<std::string> texts;
  for (const Hypothesis& hypothesis : all) texts.insert(hypothesis.text);
  EXPECT_EQ(texts.size(), all.size());
  for (int n = 1; n <= 20; ++n) {
    const std::vector<Hypothesis> best = stream.NBest(n);
    ASSERT_EQ(best.size(), std::min(all.size(), static_cast<size_t>(n)));
    for (size_t i = 0; i < best.size(); ++i) {
      EXPECT_EQ(best[i].text, all[i].text);
      EXPECT_EQ(best[i].score, all[i].score);
    }
  }
  EXPECT_THROW(stream.NBest(0), std::invalid_argument);
}

TEST(StreamTextTest, NoAudioIsNoWord) {
  Stream stream(Tiny(), Options(4, SearchMethod::kPrefixBeam, TinyWordList()));
  stream.Finish();
  ASSERT_TRUE(stream.IsFinal());
  ASSERT_EQ(stream.NBest(3).size(), 1U);
  EXPECT_EQ(stream.Text(), "");
}

TEST(StreamTextTest, TheWordListMustBeOfThisModelAndItsSearchBeam) {
  EXPECT_EQ(ErrorMessage<std::invalid_argument>(
                [] { Stream(Tiny(), Options(4, SearchMethod::kGreedy, TinyWordList())); }),
            "word_list needs search=beam");
  EXPECT_EQ(ErrorMessage<std::invalid_argument>(
                [] { Stream(Digits(), Options(4, SearchMethod::kPrefixBeam, TinyWordList())); }),
            "search.word_list is of a model with 7 tokens, blank 0, expected 17 tokens, blank 0");
}

}  // namespace
}  // namespace runnel
