#include "runtime/ngram/ngram_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "runtime/language_model.h"
#include "tests/runtime/ngram/arpa_test_support.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

// What the dictionary computes from the same floats, added in another order.
constexpr double kTolerance = 1e-9;

WordSequence Words(std::mt19937* random) {
  WordSequence words = {"<s>", "</s>", "a", "ab", "abc", "b", "ü", "zu", "中"};
  if ((*random)() % 2 == 0) words.push_back((*random)() % 2 == 0 ? "<unk>" : "<UNK>");
  return words;
}

WordSequence RandomSentence(std::mt19937* random, const WordSequence& words) {
  WordSequence sentence;
  for (size_t i = (*random)() % 12; i > 0; --i) {
    const size_t word = (*random)() % (words.size() + 1);
    sentence.push_back(word == words.size() ? "unseen" : words[word]);
  }
  return sentence;
}

// Compares p(w | h) of every word of random sentences, from the start of the sentence and from no
// context.
void ExpectSameProbabilities(const NgramModel& model, const TextDictionary& dictionary,
                             const WordSequence& words, std::mt19937* random) {
  for (int i = 0; i < 60; ++i) {
    const bool from_start = i % 2 == 0;
    WordSequence history;
    if (from_start && dictionary.Has("<s>")) history.push_back("<s>");
    NgramModel::Context context = from_start ? model.Start() : NgramModel::Empty();
    for (const std::string& word : RandomSentence(random, words)) {
      const double expected = dictionary.Log10Prob(history, word);
      const double found = model.Log10Prob(context, model.WordId(word), &context);
      ASSERT_NEAR(found, expected, kTolerance) << word << " after " << history.size() << " words";
      ASSERT_LE(found, std::max(model.most_log10_prob(), 0.0) + kTolerance);
      if (dictionary.Has(word)) {
        ASSERT_LE(found, model.most_log10_prob() + kTolerance);
      }
      history.push_back(word);
    }
  }
}

TEST(NgramModelTest, EqualsTheDefinitionOnRandomModels) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const WordSequence words = Words(&random);
    const int order = 1 + static_cast<int>(seed % 5);
    const TextModel text = RandomTextModel(&random, words, order);
    const auto model = ModelOfText(text.Arpa());
    ASSERT_EQ(model->order(), order);
    for (int length = 1; length <= order; ++length) {
      const size_t section = static_cast<size_t>(length) - 1;
      EXPECT_EQ(model->num_ngrams(length), static_cast<int64_t>(text.sections[section].size()));
    }
    ExpectSameProbabilities(*model, TextDictionary(text), words, &random);
    if (HasFatalFailure()) return;
  }
}

TEST(NgramModelTest, TheHighestOrder) {
  std::mt19937 random(1);
  const WordSequence words = {"a", "b"};
  const TextModel text = RandomTextModel(&random, words, NgramModel::kMaxOrder, 300);
  ExpectSameProbabilities(*ModelOfText(text.Arpa()), TextDictionary(text), words, &random);
}

TEST(NgramModelTest, TheOrderOfTheLinesDoesNotMatter) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    TextModel text = RandomTextModel(&random, Words(&random), 1 + static_cast<int>(seed % 5));
    const std::string fingerprint = LanguageModelOfText(text.Arpa())->fingerprint();
    for (auto& section : text.sections) std::shuffle(section.begin(), section.end(), random);
    EXPECT_EQ(LanguageModelOfText(text.Arpa())->fingerprint(), fingerprint);
    text.line_end = "\r\n";
    text.separator = " \t ";
    EXPECT_EQ(LanguageModelOfText("\xEF\xBB\xBF" + text.Arpa())->fingerprint(), fingerprint);
    text.sections[0][0].log10_prob = "-7";
    EXPECT_NE(LanguageModelOfText(text.Arpa())->fingerprint(), fingerprint);
  }
}

// Maps the same bytes, so all probabilities are equal.
TEST(NgramModelTest, TheCompiledFileIsTheSameModel) {
  const testing::TemporaryFolder folder;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const WordSequence words = Words(&random);
    const TextModel text = RandomTextModel(&random, words, 1 + static_cast<int>(seed % 5));
    testing::WriteBytes(folder.File("lm.arpa"), text.Arpa());
    const auto from_text = LanguageModel::Load(folder.File("lm.arpa"));
    from_text->Save(folder.File("lm.bin"));
    const auto mapped = LanguageModel::Load(folder.File("lm.bin"));
    EXPECT_EQ(mapped->fingerprint(), from_text->fingerprint());
    EXPECT_EQ(mapped->fingerprint().find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(mapped->fingerprint().size(), 32U);
    EXPECT_EQ(mapped->num_ngrams(), from_text->num_ngrams());
    EXPECT_EQ(mapped->order(), from_text->order());
    EXPECT_EQ(mapped->size(), testing::ReadBytes(folder.File("lm.bin")).size());
    ExpectSameProbabilities(mapped->ngrams(), TextDictionary(text), words, &random);
    if (HasFatalFailure()) return;
    mapped->Save(folder.File("again.bin"));
    EXPECT_EQ(testing::ReadBytes(folder.File("again.bin")),
              testing::ReadBytes(folder.File("lm.bin")));
  }
}

// Contexts keep only what can change a probability, so that look-ups are short.
TEST(NgramModelTest, ContextsThatDoNotMatterAreEqual) {
  const auto model = ModelOfText(
      "\\data\\\nngram 1=4\nngram 2=3\nngram 3=1\n\\1-grams:\n-1 a -0.5\n-1 b -0.5\n-1 c\n-1 d 0\n"
      "\\2-grams:\n-0.1 a b\n-0.2 c d -0.3\n-0.3 d b\n\\3-grams:\n-0.1 c d a\n\\end\\\n");
  const auto after = [&](const WordSequence& words) {
    NgramModel::Context context = model->Start();
    for (const std::string& word : words) model->Log10Prob(context, model->WordId(word), &context);
    return context.nodes;
  };
  EXPECT_EQ(model->Start().nodes, NgramModel::Empty().nodes);  // there is no <s>
  EXPECT_EQ(after({"a", "b"}), after({"b"}));  // (a b) has no back-off weight, begins nothing
  EXPECT_NE(after({"c", "d"}), after({"d"}));
  EXPECT_EQ(after({"a", "c", "d"}), after({"c", "d"}));
  EXPECT_EQ(after({"a", "unseen"}), NgramModel::Empty().nodes);
  EXPECT_NE(after({"a"}), after({"b"}));
}

TEST(NgramModelTest, SpecialWords) {
  const auto model = [](const std::string& words) {
    const auto count = std::count(words.begin(), words.end(), '\n');
    return ModelOfText("\\data\\\nngram 1=" + std::to_string(count) + "\n\\1-grams:\n" + words +
                       "\\end\\\n");
  };
  const auto none = model("-1 a\n");
  EXPECT_EQ(none->unknown_word(), NgramModel::kUnknownWord);
  EXPECT_EQ(none->start_word(), NgramModel::kUnknownWord);
  EXPECT_EQ(none->end_word(), NgramModel::kUnknownWord);
  EXPECT_FALSE(none->is_special(none->WordId("a")));
  const auto all = model("-1 a\n-2 <unk>\n-3 </s>\n-4 <s>\n-5 <UNK>\n");
  EXPECT_EQ(all->unknown_word(), all->WordId("<unk>"));
  EXPECT_EQ(all->start_word(), all->WordId("<s>"));
  EXPECT_EQ(all->end_word(), all->WordId("</s>"));
  EXPECT_TRUE(all->is_special(all->WordId("<s>")));
  const auto upper = model("-1 a\n-5 <UNK>\n");
  EXPECT_EQ(upper->unknown_word(), upper->WordId("<UNK>"));
  NgramModel::Context context = upper->Start();
  EXPECT_EQ(upper->Log10Prob(context, upper->WordId("nothing"), &context), -5);
  EXPECT_EQ(none->Log10Prob(context, none->WordId("nothing"), &context), 0);
}

TEST(NgramModelTest, LetterCasesOfTheWords) {
  const auto has = [](const std::string& word) {
    const auto model =
        ModelOfText("\\data\\\nngram 1=2\n\\1-grams:\n-1 <Unk>\n-1 " + word + "\n\\end\\\n");
    return std::string(model->has_lower_case() ? "l" : "") + (model->has_upper_case() ? "u" : "");
  };
  EXPECT_EQ(has("12"), "");
  EXPECT_EQ(has("l'été"), "l");
  EXPECT_EQ(has("ÉTÉ"), "u");
  EXPECT_EQ(has("Éa"), "lu");
  EXPECT_EQ(has("中"), "");
}

TEST(NgramModelTest, TheMostProbableWords) {
  const auto model = ModelOfText(
      "\\data\\\nngram 1=9\n\\1-grams:\n-0.1 <unk>\n-99 <s>\n-1 </s>\n-0.5 <noise>\n-4 a\n"
      "-1 abc\n-2 b\n-3 中国\n-1.5 ab\n\\end\\\n");
  EXPECT_EQ(model->most_probable_words(), (WordSequence{"abc", "ab", "b", "中国", "a"}));

  WordSequence expected;
  std::string unigrams;
  for (int i = 0; i < 1500; ++i) {
    const std::string word = "w" + std::to_string(i * 7 % 1500);
    unigrams += "-" + std::to_string(1 + 0.001 * i) + " " + word + "\n";
    if (i < 1000) expected.push_back(word);
  }
  EXPECT_EQ(ModelOfText("\\data\\\nngram 1=1500\n\\1-grams:\n" + unigrams + "\\end\\\n")
                ->most_probable_words(),
            expected);
}

// Of every beginning of a word.
TEST(NgramModelTest, TheVocabularyTrieHasTheBestWordBelow) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    WordSequence words;
    for (int i = 0; i < 60; ++i) {
      std::string word;
      for (size_t letters = 1 + random() % 6; letters > 0; --letters) {
        word += static_cast<char>('a' + random() % 3);
      }
      words.push_back(word);
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    const TextModel text = RandomTextModel(&random, words, 1);
    const auto model = ModelOfText(text.Arpa());
    const VocabularyTrie& trie = model->vocabulary();
    for (const std::string& word : words) {
      for (size_t length = 0; length <= word.size(); ++length) {
        const std::string start = word.substr(0, length);
        const uint32_t node = trie.Walk(VocabularyTrie::kRoot, start);
        ASSERT_NE(node, kNoIndex);
        float best = -99;
        for (const TextNgram& ngram : text.sections[0]) {
          if (ngram.words[0].compare(0, length, start) != 0) continue;
          best = std::max(best, std::strtof(ngram.log10_prob.c_str(), nullptr));
        }
        EXPECT_EQ(trie.BestLog10Below(node), best) << start;
        const bool is_word = std::binary_search(words.begin(), words.end(), start);
        EXPECT_EQ(trie.WordAt(node) != kNoIndex, is_word) << start;
        EXPECT_EQ(trie.Child(node, 'z'), kNoIndex);
      }
      EXPECT_EQ(model->WordId(word),
                static_cast<uint32_t>(std::lower_bound(words.begin(), words.end(), word) -
                                      words.begin()));
    }
    EXPECT_EQ(model->WordId(""), NgramModel::kUnknownWord);
    EXPECT_EQ(model->WordId("abcd"), NgramModel::kUnknownWord);
  }
}

}  // namespace
}  // namespace runnel
