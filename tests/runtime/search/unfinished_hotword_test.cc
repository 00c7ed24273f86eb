// Beam searches with a hotword that begins like the utterance and goes on differently: it costs no
// words. Of CTC and of all transducers, with small beams, on made-up log probabilities.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/search/ctc_search.h"
#include "runtime/search/transducer_search.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/token_table.h"
#include "tests/runtime/search/transducer_search_support.h"
#include "tests/support/random_transducer.h"

namespace runnel {
namespace {

using testing::RandomTransducer;

constexpr int kNumTokens = 11;
constexpr int32_t kBlankId = 0;
constexpr int32_t kBoundaryToken = 1;
constexpr int32_t kFirstLetter = 2;  // a
constexpr int kNumLetters = 8;       // a to h, which are spoken
constexpr int32_t kNeverSpoken = 10;
constexpr size_t kWordSize = 4;

const TokenTable& Letters() {
  static const TokenTable tokens("<blank> 0\n▁ 1\na 2\nb 3\nc 4\nd 5\ne 6\nf 7\ng 8\nh 9\nz 10\n",
                                 kNumTokens, kBlankId, "units.txt");
  return tokens;
}

// What was said, and log probabilities: per token a frame and a blank frame after it.
struct Utterance {
  std::string text;
  std::string similar_text;  // of the second most probable letters
  std::vector<float> log_probs;
  int64_t num_frames() const { return static_cast<int64_t>(log_probs.size()) / kNumTokens; }
};

// A frame of one label that is most probable, and one that is a little less so. z is impossible in
// practice.
void AddFrame(int32_t label, int32_t similar, float distance, std::vector<float>* log_probs) {
  std::vector<float> frame(kNumTokens, -8);
  frame[kBlankId] = -3;
  frame[static_cast<size_t>(similar)] = -distance;
  frame[static_cast<size_t>(label)] = 0;
  frame[kNeverSpoken] = -200;
  const float sum = std::accumulate(frame.begin(), frame.end(), 0.0F,
                                    [](float so_far, float x) { return so_far + std::exp(x); });
  for (const float value : frame) log_probs->push_back(value - std::log(sum));
}

Utterance MakeUtterance(size_t num_words, float distance, std::mt19937* random) {
  Utterance made;
  for (size_t i = 0; i < num_words * (kWordSize + 1); ++i) {
    const auto letter = static_cast<int32_t>((*random)() % kNumLetters);
    const auto other = static_cast<int32_t>((*random)() % (kNumLetters - 1)) + 1;
    const int32_t similar = (letter + other) % kNumLetters;
    if (i % (kWordSize + 1) == 0) {
      if (i > 0) made.text += ' ';
      if (i > 0) made.similar_text += ' ';
      AddFrame(kBoundaryToken, kFirstLetter + similar, 6, &made.log_probs);
    } else {
      made.text += static_cast<char>('a' + letter);
      made.similar_text += static_cast<char>('a' + similar);
      AddFrame(kFirstLetter + letter, kFirstLetter + similar, distance, &made.log_probs);
    }
    AddFrame(kBlankId, kFirstLetter + similar, 3, &made.log_probs);
  }
  return made;
}

// A beam search from the first to the last frame, with a snapshot now and then.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual std::string Decode(const Utterance& utterance, const SearchOptions& options) const = 0;

 protected:
  static constexpr int64_t kSnapshotInterval = 7;  // frames

  static std::string BestText(const Search& search) { return Letters().Text(search.BestIds()); }
};

class CtcDecoder : public Decoder {
 public:
  std::string Decode(const Utterance& utterance, const SearchOptions& options) const override {
    auto search = MakeCtcSearch(options, kNumTokens, kBlankId);
    for (int64_t t = 0; t < utterance.num_frames(); ++t) {
      search->Advance(utterance.log_probs.data() + t * kNumTokens, 1);
      if (t % kSnapshotInterval != 0) continue;
      StateWriter writer;
      search->Save(&writer);
      const std::string bytes = writer.Take();
      StateReader reader(bytes);
      search = MakeCtcSearch(options, kNumTokens, kBlankId);
      search->Restore(&reader);
    }
    search->Finish();
    return BestText(*search);
  }
};

// The search of a transducer whose networks are made up: in each frame the first label has the
// probabilities of the utterance, whatever the tokens before, and the next one is a blank.
class TransducerDecoder : public Decoder {
 public:
  TransducerDecoder(TransducerBeam beam, const std::vector<int64_t>& durations) {
    TransducerConfig config = testing::SmallTransducer("embedding", kNumTokens, durations);
    config.blank_id = kBlankId;
    config.beam = beam;
    config.max_symbols = 3;
    transducer_ = RandomTransducer(config, 1);
    AddFrame(kBlankId, kBoundaryToken, 6, &blank_);
  }

  std::string Decode(const Utterance& utterance, const SearchOptions& options) const override {
    auto search = MakeTransducerSearch(options, *transducer_);
    for (int64_t t = 0; t < utterance.num_frames(); ++t) {
      search->BeginFrame(nullptr);
      const float* row = utterance.log_probs.data() + t * kNumTokens;
      for (; !search->queries().empty(); row = blank_.data()) Answer(row, search.get());
      if (t % kSnapshotInterval == 0) search = Restored(Saved(*search), options, *transducer_);
    }
    search->Finish();
    return BestText(*search);
  }

 private:
  // The label alike after each hypothesis; a duration of 1 frame.
  void Answer(const float* row, TransducerSearch* search) const {
    std::vector<float> rows;
    for (size_t i = 0; i < search->queries().size(); ++i) {
      rows.insert(rows.end(), row, row + kNumTokens);
      for (const int64_t duration : transducer_->config().durations) {
        rows.push_back(duration == 1 ? -0.02F : -5.0F);
      }
    }
    search->Answer(rows.data());
    const std::vector<SharedPredictorState> states(search->steps().size(), transducer_->Start());
    search->TakeStates(states.data());
  }

  std::unique_ptr<const Transducer> transducer_;
  std::vector<float> blank_;  // log probabilities
};

std::vector<std::pair<std::string, std::unique_ptr<Decoder>>> AllDecoders() {
  std::vector<std::pair<std::string, std::unique_ptr<Decoder>>> all;
  all.emplace_back("CTC", std::make_unique<CtcDecoder>());
  const auto add = [&all](const std::string& name, TransducerBeam beam,
                          const std::vector<int64_t>& durations) {
    all.emplace_back(name, std::make_unique<TransducerDecoder>(beam, durations));
  };
  add("time-synchronous", TransducerBeam::kTimeSynchronous, {});
  add("TDT", TransducerBeam::kTimeSynchronous, {0, 1, 2});
  add("modified", TransducerBeam::kModified, {});
  add("prefix merging", TransducerBeam::kPrefix, {});
  return all;
}

SearchOptions WithHotword(const std::string& line, float score, int beam_size) {
  SearchOptions options;
  options.method = SearchMethod::kPrefixBeam;
  options.beam_size = beam_size;
  options.hotwords = std::make_shared<const Hotwords>(line, Letters(), score, "test");
  return options;
}

TEST(UnfinishedHotwordTest, CostsNoWordsHoweverLongItsBeginningIs) {
  constexpr unsigned kSeed = 41;
  std::mt19937 random(kSeed);
  const auto decoders = AllDecoders();
  for (const int beam_size : {1, 2, 4, 8}) {
    const Utterance utterance = MakeUtterance(12, 2, &random);
    for (size_t size = 1; size < utterance.text.size(); size += 3) {
      for (const float score : {0.75F, 2.0F}) {
        const std::string line = utterance.text.substr(0, size) + "zzz";
        const SearchOptions options = WithHotword(line, score, beam_size);
        for (const auto& [name, decoder] : decoders) {
          EXPECT_EQ(decoder->Decode(utterance, options), utterance.text)
              << name << ", beam " << beam_size << ", seed " << kSeed << ", hotword '" << line
              << "', score " << score;
        }
      }
    }
  }
}

TEST(UnfinishedHotwordTest, CostsNoWordsInTheMiddleAndBesideOthers) {
  constexpr unsigned kSeed = 42;
  std::mt19937 random(kSeed);
  const auto decoders = AllDecoders();
  for (const int beam_size : {2, 4, 8}) {
    const Utterance utterance = MakeUtterance(12, 2, &random);
    std::string lines;
    for (size_t word = 0; word < 6; ++word) {
      const size_t begin = word * (kWordSize + 1);
      for (const size_t size : {3, 8, 15}) lines += utterance.text.substr(begin, size) + "z\n";
    }
    const SearchOptions options = WithHotword(lines, 1, beam_size);
    for (const auto& [name, decoder] : decoders) {
      EXPECT_EQ(decoder->Decode(utterance, options), utterance.text)
          << name << ", beam " << beam_size << ", seed " << kSeed;
    }
  }
}

// What the potential is for: each letter of the hotword alone is the less probable one.
TEST(UnfinishedHotwordTest, IsKeptUntilItIsComplete) {
  constexpr unsigned kSeed = 43;
  std::mt19937 random(kSeed);
  const auto decoders = AllDecoders();
  for (const int beam_size : {2, 4, 8}) {
    const Utterance utterance = MakeUtterance(6, 0.5, &random);
    const size_t begin = 2 * (kWordSize + 1);
    const size_t size = 2 * kWordSize + 1;
    std::string expected = utterance.text;
    expected.replace(begin, size, utterance.similar_text, begin, size);
    const SearchOptions options =
        WithHotword(utterance.similar_text.substr(begin, size), 1, beam_size);
    for (const auto& [name, decoder] : decoders) {
      EXPECT_EQ(decoder->Decode(utterance, options), expected)
          << name << ", beam " << beam_size << ", seed " << kSeed;
    }
  }
}

}  // namespace
}  // namespace runnel
