// Prefix beam search within a word list, against the exact answers of small problems.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/search/ctc_search.h"
#include "runtime/search/prefix_beam_search.h"
#include "runtime/token_table.h"
#include "runtime/word_list.h"
#include "tests/runtime/search/search_test_support.h"
#include "tests/support/error_message.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using Spellings = std::set<std::vector<int32_t>>;

// The token of each id is a letter: 'a' is 0, the blank keeps its id.
TokenTable Letters(int vocab_size, int blank_id) {
  std::string text;
  for (int id = 0; id < vocab_size; ++id) {
    text += id == blank_id ? std::string("<blank>") : std::string(1, static_cast<char>('a' + id));
    text += " " + std::to_string(id) + "\n";
  }
  return TokenTable(text, vocab_size, blank_id, "units.txt");
}

std::shared_ptr<const WordList> WordListOf(const Spellings& spellings, int vocab_size,
                                           int blank_id) {
  std::string text;
  for (const std::vector<int32_t>& spelling : spellings) {
    for (const int32_t id : spelling) text += static_cast<char>('a' + id);
    text += '\n';
  }
  return std::make_shared<const WordList>(text, Letters(vocab_size, blank_id), "words");
}

SearchOptions Beam(int beam_size, int token_beam, std::shared_ptr<const WordList> word_list) {
  SearchOptions options;
  options.method = SearchMethod::kPrefixBeam;
  options.beam_size = beam_size;
  options.token_beam = token_beam;
  options.word_list = std::move(word_list);
  return options;
}

// By definition, without a tree: sequences of words, and beginnings of such sequences.
bool IsComplete(const Spellings& words, const std::vector<int32_t>& ids) {
  if (ids.empty()) return true;
  return std::any_of(words.begin(), words.end(), [&](const std::vector<int32_t>& word) {
    return word.size() <= ids.size() && std::equal(word.begin(), word.end(), ids.begin()) &&
           IsComplete(words, {ids.begin() + static_cast<std::ptrdiff_t>(word.size()), ids.end()});
  });
}

bool IsAllowed(const Spellings& words, const std::vector<int32_t>& ids) {
  for (auto cut = ids.begin(); cut != ids.end(); ++cut) {
    if (!IsComplete(words, {ids.begin(), cut})) continue;
    for (const std::vector<int32_t>& word : words) {
      if (static_cast<std::ptrdiff_t>(word.size()) >= ids.end() - cut &&
          std::equal(cut, ids.end(), word.begin())) {
        return true;
      }
    }
  }
  return ids.empty();
}

// One small problem of each seed. Words overlap, contain and repeat each other.
struct Problem {
  explicit Problem(unsigned seed)
      : random(seed),
        vocab_size(2 + static_cast<int>(seed % 3)),
        blank_id(static_cast<int>(seed / 3) % vocab_size),
        num_frames(1 + seed % 7),
        values(RandomLogProbs(&random, num_frames, vocab_size, seed % 2 == 0 ? 0.5F : 2)) {
    std::uniform_int_distribution<int32_t> token(0, vocab_size - 1);
    for (unsigned i = 0; i < 1 + seed % 4; ++i) {
      std::vector<int32_t> word;
      for (unsigned length = 1 + random() % 3; word.size() < length;) {
        const int32_t id = token(random);
        if (id != blank_id) word.push_back(id);
      }
      words.insert(word);
    }
    word_list = WordListOf(words, vocab_size, blank_id);
    if (seed % 5 != 0) return;
    for (size_t i = 0; i < values.size(); i += 3) {  // some tokens cannot occur
      if (static_cast<int>(i) % vocab_size != blank_id) values[i] = kMinusInfinity;
    }
  }
  std::mt19937 random;
  int vocab_size;
  int blank_id;
  int64_t num_frames;
  std::vector<float> values;
  Spellings words;
  std::shared_ptr<const WordList> word_list;
};

// `sequences` are exactly those of `exact`, best first, with their scores and best alignments.
void ExpectExact(const std::vector<TokenSequence>& sequences,
                 std::map<std::vector<int32_t>, ExactLabelling> exact) {
  EXPECT_EQ(sequences.size(), exact.size());
  double before = 1e-9;
  for (const TokenSequence& sequence : sequences) {
    const auto found = exact.find(Ids(sequence));
    ASSERT_NE(found, exact.end());
    EXPECT_NEAR(sequence.score, std::log(found->second.probability), 1e-9);
    EXPECT_LE(sequence.score, before);
    before = sequence.score;
    ExpectSame({{sequence.tokens, 0}}, {{found->second.best_spans, 0}});
    exact.erase(found);  // each one only once
  }
}

TEST(WordListSearchTest, UnprunedEqualsTheSumOverTheAlignmentsOfWords) {
  size_t num_incomplete = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Problem problem(seed);
    std::map<std::vector<int32_t>, ExactLabelling> allowed;
    std::map<std::vector<int32_t>, ExactLabelling> complete;
    for (const auto& [ids, labelling] :
         EnumerateLabellings(problem.values, problem.vocab_size, problem.blank_id)) {
      if (labelling.probability == 0 || !IsAllowed(problem.words, ids)) continue;
      allowed.emplace(ids, labelling);
      if (IsComplete(problem.words, ids)) complete.emplace(ids, labelling);
    }
    CtcPrefixBeamSearch search(Beam(10000, 100, problem.word_list), problem.vocab_size,
                               problem.blank_id);
    search.Advance(problem.values.data(), problem.num_frames);
    ExpectExact(search.NBest(10000), allowed);
    search.Finish();
    ExpectExact(search.NBest(10000), complete);
    EXPECT_EQ(search.BestIds(), Ids(search.NBest(1).front()));
    num_incomplete += allowed.size() - complete.size();
  }
  EXPECT_GT(num_incomplete, 500U);
}

// When every token is a word, every sequence is allowed and complete.
TEST(WordListSearchTest, AllUnitsAsWordsAreTheFreeSearch) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int vocab_size = 2 + static_cast<int>(seed % 6);
    Spellings words;
    for (int32_t id = 1; id < vocab_size; ++id) words.insert({id});
    const std::vector<float> values =
        RandomLogProbs(&random, 150, vocab_size, seed % 2 == 0 ? 0.7F : 3);
    const int beam_size = 1 + static_cast<int>(seed % 10);
    CtcPrefixBeamSearch free_search(Beam(beam_size, vocab_size, nullptr), vocab_size, 0);
    free_search.Advance(values.data(), 150);
    CtcPrefixBeamSearch search(Beam(beam_size, vocab_size, WordListOf(words, vocab_size, 0)),
                               vocab_size, 0);
    search.Advance(values.data(), 150);
    ExpectSame(search.NBest(100), free_search.NBest(100));
    search.Finish();
    ExpectSame(search.NBest(100), free_search.NBest(100));
    free_search.Finish();
    ExpectSame(free_search.NBest(100), search.NBest(100));
  }
}

TEST(WordListSearchTest, AnySplitAndAnyCloneGiveTheSame) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem(seed);
    const std::vector<float> values =
        RandomLogProbs(&problem.random, 200, problem.vocab_size, seed % 2 == 0 ? 1.0F : 4);
    const SearchOptions options =
        Beam(1 + static_cast<int>(seed % 9), 1 + seed % 3, problem.word_list);
    const auto whole = MakeCtcSearch(options, problem.vocab_size, problem.blank_id);
    whole->Advance(values.data(), 200);
    const std::vector<TokenSequence> before = whole->NBest(100);
    const auto pieces = MakeCtcSearch(options, problem.vocab_size, problem.blank_id);
    AdvanceInPieces(&problem.random, values, problem.vocab_size, pieces.get());
    ExpectSame(pieces->NBest(100), before);
    const auto clone = pieces->Clone();
    whole->Finish();
    pieces->Finish();
    ExpectSame(pieces->NBest(100), whole->NBest(100));
    ExpectSame(clone->NBest(100), before);
    clone->Finish();
    clone->Finish();  // the second time nothing is left to drop
    ExpectSame(clone->NBest(100), whole->NBest(100));
    // Frames after the end continue from the sequences that remain.
    pieces->Advance(values.data(), 50);
    clone->Advance(values.data(), 50);
    ExpectSame(clone->NBest(100), pieces->NBest(100));
    pieces->Reset();
    EXPECT_TRUE(pieces->BestIds().empty());
    pieces->Advance(values.data(), 200);
    ExpectSame(pieces->NBest(100), before);
  }
}

TEST(WordListSearchTest, NoBeamIsEverWithoutACompleteSequence) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem(seed);
    const std::vector<float> values =
        RandomLogProbs(&problem.random, 60, problem.vocab_size, 3, problem.blank_id, -3);
    const int beam_size = 1 + static_cast<int>(seed % 4);
    CtcPrefixBeamSearch search(Beam(beam_size, 1 + seed % 2, problem.word_list), problem.vocab_size,
                               problem.blank_id);
    for (int64_t t = 0; t < 60; ++t) {
      search.Advance(values.data() + t * problem.vocab_size, 1);
      for (const TokenSequence& sequence : search.NBest(100)) {
        EXPECT_TRUE(IsAllowed(problem.words, Ids(sequence)));
        ExpectOrderedSpans(sequence, t + 1);
      }
      const std::unique_ptr<CtcSearch> finished = search.Clone();
      finished->Finish();
      const std::vector<TokenSequence> nbest = finished->NBest(100);
      ASSERT_FALSE(nbest.empty());
      EXPECT_LE(nbest.size(), static_cast<size_t>(beam_size) + 1);
      for (const TokenSequence& sequence : nbest) {
        EXPECT_TRUE(IsComplete(problem.words, Ids(sequence)));
      }
      EXPECT_EQ(finished->BestIds(), Ids(nbest.front()));
    }
  }
}

TEST(WordListSearchTest, WordsBeyondTheTokenBeamAreFound) {
  // The tokens of the only word are less probable than 17 others in every frame.
  constexpr int kVocabSize = 20;
  std::vector<float> values(6 * kVocabSize, std::log(0.05F));
  for (size_t t = 0; t < 6; ++t) {
    float* frame = values.data() + t * kVocabSize;
    frame[0] = frame[1] = frame[2] = std::log(1e-5F);
    frame[1 + t / 3] = std::log(1e-3F);
  }
  CtcPrefixBeamSearch search(Beam(2, 1, WordListOf({{1, 2}}, kVocabSize, 0)), kVocabSize, 0);
  search.Advance(values.data(), 6);
  search.Finish();
  EXPECT_EQ(search.BestIds(), (std::vector<int32_t>{1, 2}));
}

// (num_frames, 4): nearly all probability on each frame's token.
std::vector<float> Sure(const std::vector<int32_t>& path) {
  std::vector<float> values(path.size() * 4, std::log(1e-4F));
  for (size_t t = 0; t < path.size(); ++t) {
    values[t * 4 + static_cast<size_t>(path[t])] = std::log(1 - 3e-4F);
  }
  return values;
}

TEST(WordListSearchTest, RepeatedLettersNeedABlankBetween) {
  const auto best = [](const Spellings& words, const std::vector<int32_t>& path) {
    CtcPrefixBeamSearch search(Beam(8, 4, WordListOf(words, 4, 0)), 4, 0);
    search.Advance(Sure(path).data(), static_cast<int64_t>(path.size()));
    search.Finish();
    return search.BestIds();
  };
  using Ids = std::vector<int32_t>;
  // Within a word, as in "three".
  EXPECT_EQ(best({{1, 2, 2}}, {1, 2, 2, 0, 2, 2}), (Ids{1, 2, 2}));
  EXPECT_EQ(best({{1, 2, 2}, {1, 2}}, {1, 2, 2, 2, 2}), (Ids{1, 2}));
  EXPECT_EQ(best({{1, 2, 2}}, {1, 2, 2, 2, 2}), (Ids{1, 2, 2}));  // one frame as a blank
  // Where a word ends with the letter with which the next begins.
  EXPECT_EQ(best({{1, 2}, {2, 1}}, {1, 2, 0, 2, 1}), (Ids{1, 2, 2, 1}));
  EXPECT_EQ(best({{1, 2}, {2, 1}, {1}}, {1, 2, 2, 1}), (Ids{1, 2, 1}));
}

TEST(WordListSearchTest, StableIdsAreWhatAllSequencesBeginWithForEver) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem(seed);
    const std::vector<float> values =
        RandomLogProbs(&problem.random, 300, problem.vocab_size, seed % 2 == 0 ? 1.0F : 4);
    const auto search = MakeCtcSearch(Beam(1 + static_cast<int>(seed % 7), 4, problem.word_list),
                                      problem.vocab_size, problem.blank_id);
    ExpectStableIdsStay(values, problem.vocab_size, search.get());
  }
}

TEST(WordListSearchTest, WrongUse) {
  const auto word_list = WordListOf({{1, 2}}, 4, 0);
  SearchOptions greedy = Beam(4, 4, word_list);
  greedy.method = SearchMethod::kGreedy;
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { MakeCtcSearch(greedy, 4, 0); }),
            "word_list needs search=beam");
  EXPECT_EQ(
      ErrorMessage<std::invalid_argument>([&] { MakeCtcSearch(Beam(4, 4, word_list), 5, 1); }),
      "search.word_list is of a model with 4 tokens, blank 0, expected 5 tokens, blank 1");

  const auto search = MakeCtcSearch(Beam(4, 4, word_list), 4, 0);
  std::vector<float> values = Sure({1, 2, 0});
  search->Advance(values.data(), 3);
  const std::vector<TokenSequence> before = search->NBest(9);
  values[4] = kMinusInfinity;
  EXPECT_TRUE(
      Contains(ErrorMessage<std::invalid_argument>([&] { search->Advance(values.data(), 3); }),
               "encoder frame 4: the blank has probability zero"));
  ExpectSame(search->NBest(9), before);
}

}  // namespace
}  // namespace runnel
