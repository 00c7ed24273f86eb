// The bonus of texts, compared with its definition in runtime/hotwords.h, computed by brute force.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/hotwords/hotword_automaton.h"
#include "runtime/text/utf8.h"
#include "runtime/token_table.h"
#include "tests/support/hotword_bonus.h"

namespace runnel {
namespace {

using testing::Follow;
using testing::SequenceEnd;
using testing::WholeBonus;

using Ids = std::vector<int32_t>;
using Strings = std::vector<std::string>;

constexpr const char* kBoundary = "▁";

std::string Joined(const Strings& characters) {
  std::string text;
  for (const std::string& character : characters) text += character;
  return text;
}

// A vocabulary; token 0 is the blank.
struct Vocabulary {
  Strings characters;  // without boundaries
  bool has_boundaries = true;
  Strings names;

  TokenTable Table() const {
    std::string units;
    for (size_t i = 0; i < names.size(); ++i) units += names[i] + " " + std::to_string(i) + "\n";
    return TokenTable(units, static_cast<int>(names.size()), 0, "units.txt");
  }
};

// Phrases and their scores as the definition has them.
struct List {
  struct Phrase {
    std::string text;  // between boundaries if the vocabulary has them
    size_t num_characters = 0;
    double score = 0;
  };
  std::vector<Phrase> phrases;  // in the order of the list, each once
  std::string lines;
};

// The normalised text of the start of an utterance: boundaries at the start and around Chinese
// characters, each once.
std::string Normalized(const std::string& text, bool has_boundaries) {
  if (!has_boundaries) return text;
  Strings symbols = {kBoundary};
  for (const std::string_view character : SplitCharacters(text)) {
    const bool is_chinese = character == "中" || character == "丰" || character == "人";
    if (is_chinese) symbols.emplace_back(kBoundary);
    symbols.emplace_back(character);
    if (is_chinese) symbols.emplace_back(kBoundary);
  }
  const auto are_boundaries = [](const std::string& a, const std::string& b) {
    return a == kBoundary && b == kBoundary;
  };
  symbols.erase(std::unique(symbols.begin(), symbols.end(), are_boundaries), symbols.end());
  return Joined(symbols);
}

size_t NumCharacters(const std::string& text) {
  const std::vector<std::string_view> characters = SplitCharacters(text);
  return characters.size() -
         static_cast<size_t>(std::count(characters.begin(), characters.end(), kBoundary));
}

struct Occurrence {
  size_t phrase;
  size_t begin;  // of the phrase's text, in bytes
  size_t end;
};

// In the order of their ends, longer ones first.
std::vector<Occurrence> Occurrences(const List& list, const std::string& text) {
  std::vector<Occurrence> found;
  for (size_t i = 0; i < list.phrases.size(); ++i) {
    const std::string& phrase = list.phrases[i].text;
    for (size_t at = text.find(phrase); at != text.npos; at = text.find(phrase, at + 1)) {
      found.push_back({i, at, at + phrase.size()});
    }
  }
  std::sort(found.begin(), found.end(), [](const Occurrence& a, const Occurrence& b) {
    return std::tie(a.end, a.begin) < std::tie(b.end, b.begin);
  });
  return found;
}

double Completed(const List& list, const std::string& text) {
  double sum = 0;
  for (const Occurrence& occurrence : Occurrences(list, text)) {
    const List::Phrase& phrase = list.phrases[occurrence.phrase];
    sum += phrase.score * static_cast<double>(phrase.num_characters);
  }
  return sum;
}

// Of the longest end of the text that a phrase continues. Never negative.
double Potential(const List& list, const std::string& text) {
  for (size_t begin = 0; begin < text.size(); ++begin) {
    const std::string end = text.substr(begin);
    bool is_found = false;
    double best = 0;
    for (const List::Phrase& phrase : list.phrases) {
      if (phrase.text.size() <= end.size() || phrase.text.compare(0, end.size(), end) != 0)
        continue;
      const double value = phrase.score * static_cast<double>(NumCharacters(end));
      best = std::max(best, value);
      is_found = true;
    }
    if (is_found) return best;
  }
  return 0;
}

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  size_t Below(size_t bound) { return random_() % bound; }
  bool Chance(int percent) { return Below(100) < static_cast<size_t>(percent); }

  Vocabulary MakeVocabulary() {
    // Chinese characters with common first bytes; letters of both cases.
    const std::vector<Strings> alphabets = {
        {"a", "b"}, {"中", "丰", "人"}, {"a", "A", "é"}, {"a", "中", "人"}};
    Vocabulary vocabulary;
    vocabulary.characters = alphabets[Below(alphabets.size())];
    vocabulary.has_boundaries = Chance(70);
    Strings symbols = vocabulary.characters;
    if (vocabulary.has_boundaries) symbols.insert(symbols.end(), {kBoundary, kBoundary});
    // All single symbols, so that every phrase can be spelled.
    std::set<std::string> names(symbols.begin(), symbols.end());
    for (size_t count = Below(12); count > 0; --count) names.insert(Text(symbols, 2 + Below(3)));
    vocabulary.names = {"<blank>"};
    vocabulary.names.insert(vocabulary.names.end(), names.begin(), names.end());
    std::shuffle(vocabulary.names.begin() + 1, vocabulary.names.end(), random_);
    return vocabulary;
  }

  List MakeList(const Vocabulary& vocabulary) {
    List list;
    std::set<std::string> known;
    for (size_t count = 1 + Below(10); count > 0; --count) {
      std::string words = Text(vocabulary.characters, 1 + Below(4));
      while (Chance(30)) words += kBoundary + Text(vocabulary.characters, 1 + Below(3));
      // A common score is more likely to make mistakes equal; others show whose score counts.
      const float score = Chance(50) ? 0.75F : static_cast<float>(Below(400)) / 77.0F - 1.5F;
      std::string text = Normalized(words + kBoundary, vocabulary.has_boundaries);
      if (!vocabulary.has_boundaries) text = Joined(Without(SplitCharacters(words)));
      if (!known.insert(text).second) continue;
      list.lines += words + " :" + std::to_string(score) + "\n";
      const double unit = HotwordAutomaton::kScoreUnit;
      const float parsed = std::stof(std::to_string(score));
      list.phrases.push_back({text, NumCharacters(text), std::round(parsed / unit) * unit});
    }
    return list;
  }

  // Of characters and, if the vocabulary has them, boundaries.
  std::string MakeText(const Vocabulary& vocabulary, size_t length) {
    Strings symbols = vocabulary.characters;
    if (vocabulary.has_boundaries) symbols.emplace_back(kBoundary);
    return Text(symbols, length);
  }

  Ids MakeTokens(const Vocabulary& vocabulary, size_t length) {
    Ids tokens;
    for (size_t i = 0; i < length; ++i) {
      tokens.push_back(static_cast<int32_t>(1 + Below(vocabulary.names.size() - 1)));
    }
    return tokens;
  }

 private:
  std::string Text(const Strings& symbols, size_t length) {
    std::string text;
    for (size_t i = 0; i < length; ++i) text += symbols[Below(symbols.size())];
    return text;
  }

  static Strings Without(const std::vector<std::string_view>& characters) {
    Strings others;
    for (const std::string_view character : characters) {
      if (character != kBoundary) others.emplace_back(character);
    }
    return others;
  }

  std::mt19937_64 random_;
};

// Calls `use` with every sequence of tokens that spells exactly `text`.
void ForEachCut(const Vocabulary& vocabulary, const std::string& text, Ids* tokens,
                const std::function<void(const Ids&)>& use) {
  if (text.empty()) return use(*tokens);
  for (size_t id = 1; id < vocabulary.names.size(); ++id) {
    const std::string& name = vocabulary.names[id];
    if (text.compare(0, name.size(), name) != 0) continue;
    tokens->push_back(static_cast<int32_t>(id));
    ForEachCut(vocabulary, text.substr(name.size()), tokens, use);
    tokens->pop_back();
  }
}

// One random vocabulary and list per seed.
class HotwordAutomatonRandomTest : public ::testing::TestWithParam<uint64_t> {};

INSTANTIATE_TEST_SUITE_P(Seeds, HotwordAutomatonRandomTest,
                         ::testing::Range(uint64_t{0}, uint64_t{200}));

TEST_P(HotwordAutomatonRandomTest, BonusIsThatOfTheDefinitionInEveryCut) {
  Generator generator(GetParam());
  const Vocabulary vocabulary = generator.MakeVocabulary();
  const List list = generator.MakeList(vocabulary);
  const Hotwords hotwords(list.lines, vocabulary.Table(), 1, "list");
  const HotwordAutomaton& automaton = hotwords.automaton();
  for (int round = 0; round < 10; ++round) {
    const std::string text = generator.MakeText(vocabulary, generator.Below(10));
    SCOPED_TRACE(text + " in\n" + list.lines);
    const std::string normalized = Normalized(text, vocabulary.has_boundaries);
    const double completed = Completed(list, normalized);
    const double potential = Potential(list, normalized);
    const double whole = Completed(
        list,
        Normalized(text + (vocabulary.has_boundaries ? kBoundary : ""), vocabulary.has_boundaries));
    Ids tokens;
    size_t num_cuts = 0;
    ForEachCut(vocabulary, text, &tokens, [&](const Ids& cut) {
      const SequenceEnd end = Follow(automaton, cut);
      EXPECT_EQ(end.completed, completed);
      EXPECT_EQ(automaton.Potential(end.node), potential);
      EXPECT_EQ(WholeBonus(automaton, cut), whole);
      ++num_cuts;
    });
    EXPECT_GE(num_cuts, 1U);
  }
}

TEST_P(HotwordAutomatonRandomTest, MatchesAreTheLongestOccurrencesOfEachEnd) {
  Generator generator(GetParam());
  const Vocabulary vocabulary = generator.MakeVocabulary();
  const List list = generator.MakeList(vocabulary);
  const Hotwords hotwords(list.lines, vocabulary.Table(), 1, "list");
  for (int round = 0; round < 10; ++round) {
    const Ids tokens = generator.MakeTokens(vocabulary, generator.Below(12));
    // The normalised text, and the token of each of its bytes.
    std::string text = vocabulary.has_boundaries ? kBoundary : "";
    std::vector<size_t> token_of(text.size(), 0);
    for (size_t i = 0; i <= tokens.size(); ++i) {
      const bool is_end = i == tokens.size();
      if (is_end && !vocabulary.has_boundaries) break;
      const std::string name =
          is_end ? kBoundary : vocabulary.names[static_cast<size_t>(tokens[i])];
      text = Normalized(text.append(name), vocabulary.has_boundaries);
      token_of.resize(text.size(), i);
    }
    const size_t boundary_size = vocabulary.has_boundaries ? std::string(kBoundary).size() : 0;
    std::vector<Occurrence> expected = Occurrences(list, text);
    expected.erase(std::unique(expected.begin(), expected.end(),
                               [](const Occurrence& longest, const Occurrence& next) {
                                 return longest.end == next.end;
                               }),
                   expected.end());
    const std::vector<HotwordAutomaton::Match> matches = hotwords.automaton().Matches(tokens);
    SCOPED_TRACE(text + " in\n" + list.lines);
    ASSERT_EQ(matches.size(), expected.size());
    for (size_t i = 0; i < matches.size(); ++i) {
      EXPECT_EQ(matches[i].phrase, expected[i].phrase);
      EXPECT_EQ(matches[i].first_token, token_of[expected[i].begin + boundary_size]);
      EXPECT_EQ(matches[i].last_token, token_of[expected[i].end - boundary_size - 1]);
    }
  }
}

TEST_P(HotwordAutomatonRandomTest, MostGainIsAnUpperBound) {
  Generator generator(GetParam());
  const Vocabulary vocabulary = generator.MakeVocabulary();
  const Hotwords hotwords(generator.MakeList(vocabulary).lines, vocabulary.Table(), 1, "list");
  const HotwordAutomaton& automaton = hotwords.automaton();
  for (int round = 0; round < 50; ++round) {
    const SequenceEnd end = Follow(automaton, generator.MakeTokens(vocabulary, generator.Below(6)));
    EXPECT_GE(automaton.MostGain(end.node), 0);
    for (int32_t token = 1; token < hotwords.vocab_size(); ++token) {
      SequenceEnd next = end;
      next.node = automaton.Next(end.node, token, &next.completed);
      EXPECT_LE(next.Total(automaton) - end.Total(automaton), automaton.MostGain(end.node));
    }
  }
}

}  // namespace
}  // namespace runnel
