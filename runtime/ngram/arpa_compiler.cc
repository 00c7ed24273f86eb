#include "runtime/ngram/arpa_compiler.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/ngram/arpa_reader.h"
#include "runtime/ngram/image_format.h"
#include "runtime/ngram/trie_builder.h"
#include "runtime/ngram/vocabulary_builder.h"
#include "runtime/text/letter_case.h"

namespace runnel {
namespace {

// The section of 1-grams, in the order of the words' bytes.
class Unigrams {
 public:
  void Reserve(uint64_t count) { items_.reserve(count); }

  void Add(const ArpaNgram& ngram) {
    const std::string_view word = ngram.words[0];
    items_.push_back(
        {text_.size(), word.size(), ngram.log10_prob, ngram.log10_backoff, ngram.line});
    text_ += word;
  }

  // After the last Add. Calls fail(word, line) for a word that was added twice.
  template <typename Fail>
  void Sort(const Fail& fail) {
    std::sort(items_.begin(), items_.end(), [this](const Item& a, const Item& b) {
      const int order = Word(a).compare(Word(b));
      return order != 0 ? order < 0 : a.line < b.line;
    });
    for (size_t i = 1; i < items_.size(); ++i) {
      if (Word(items_[i - 1]) == Word(items_[i])) fail(Word(items_[i]), items_[i].line);
    }
  }

  size_t size() const { return items_.size(); }
  std::string_view Word(size_t id) const { return Word(items_[id]); }

  std::vector<NgramEntry> Entries() const {
    std::vector<NgramEntry> entries;
    entries.reserve(items_.size());
    for (const Item& item : items_) {
      const auto id = static_cast<uint32_t>(entries.size());
      entries.push_back({id, item.log10_prob, item.log10_backoff, 0});
    }
    return entries;
  }

  VocabularyNodes Vocabulary() const {
    std::vector<std::string_view> words;
    std::vector<float> log10_probs;
    words.reserve(items_.size());
    log10_probs.reserve(items_.size());
    for (const Item& item : items_) {
      words.push_back(Word(item));
      log10_probs.push_back(item.log10_prob);
    }
    return BuildVocabulary(words, log10_probs);
  }

 private:
  struct Item {
    size_t begin;  // of the word in text_
    size_t size;
    float log10_prob;
    float log10_backoff;
    uint64_t line;
  };

  std::string_view Word(const Item& item) const {
    return std::string_view(text_).substr(item.begin, item.size);
  }

  std::string text_;
  std::vector<Item> items_;
};

class ArpaCompiler {
 public:
  ArpaCompiler(LineReader* lines, const std::function<void(double)>& progress,
               const NemoWords* nemo_words)
      : lines_(lines), progress_(progress), reader_(lines, nemo_words) {}

  MappedBytes Compile() {
    try {
      ReadUnigrams();
      for (int length = 2; length <= reader_.order(); ++length) ReadLevel(length);
    } catch (const std::length_error& error) {
      lines_->Fail(std::string(error.what()) + "; expected at most " + std::to_string(kMaxItems));
    }
    reader_.ReadEnd();
    SetCounts();
    return WriteImage();
  }

 private:
  void Report() {
    if (progress_) progress_(lines_->fraction());
  }

  void ReadUnigrams() {
    Unigrams unigrams;
    unigrams.Reserve(reader_.PlausibleCount(1));
    reader_.ReadSection(1, [&](const ArpaNgram& ngram) { unigrams.Add(ngram); });
    unigrams.Sort([this](std::string_view word, uint64_t line) {
      lines_->FailAt(line, "'" + std::string(word) + "' occurs twice; expected every 1-gram once");
    });
    vocabulary_ = unigrams.Vocabulary();
    SetSpecialWords(unigrams);
    levels_.emplace(unigrams.Entries(), reader_.order(),
                    [this](const TrieBuilder::Words& words, int length, uint32_t line) {
                      FailForDuplicate(words, length, line);
                    });
    Report();
  }

  void SetSpecialWords(const Unigrams& unigrams) {
    const VocabularyTrie trie = vocabulary_.trie();
    header_.unknown_word = trie.Find("<unk>");
    if (header_.unknown_word == kNoIndex) header_.unknown_word = trie.Find("<UNK>");
    header_.start_word = trie.Find("<s>");
    header_.end_word = trie.Find("</s>");
    const LetterCase letters;
    for (size_t id = 0; id < unigrams.size(); ++id) {
      const std::string_view word = unigrams.Word(id);
      if (word.front() == '<' && word.back() == '>') continue;
      if (header_.has_lower_case == 0 && letters.HasLower(word)) header_.has_lower_case = 1;
      if (header_.has_upper_case == 0 && letters.HasUpper(word)) header_.has_upper_case = 1;
    }
  }

  void ReadLevel(int length) {
    constexpr uint64_t kLinesPerReport = 100000;
    first_line_ = lines_->number();
    levels_->Reserve(reader_.PlausibleCount(length));
    TrieBuilder::Words words = {};
    reader_.ReadSection(length, [&](const ArpaNgram& ngram) {
      for (size_t i = 0; i < static_cast<size_t>(length); ++i) words[i] = WordId(ngram.words[i]);
      levels_->Add(words, ngram.log10_prob, ngram.log10_backoff,
                   static_cast<uint32_t>(ngram.line - first_line_));
      if (ngram.line % kLinesPerReport == 0) Report();
    });
    levels_->FinishLevel();
    Report();
  }

  uint32_t WordId(std::string_view word) const {
    const uint32_t id = vocabulary_.trie().Find(word);
    if (id == kNoIndex) {
      lines_->Fail("'" + std::string(word) + "' is not among the 1-grams; expected words that are");
    }
    return id;
  }

  [[noreturn]] void FailForDuplicate(const TrieBuilder::Words& words, int length,
                                     uint32_t line) const {
    std::string text;
    for (size_t i = 0; i < static_cast<size_t>(length); ++i) {
      text += (i == 0 ? "" : " ") + SpellingOf(words[i]);
    }
    lines_->FailAt(first_line_ + line, "'" + text + "' occurs twice; expected every " +
                                           std::to_string(length) + "-gram once");
  }

  // The bytes of a word, from the vocabulary trie.
  std::string SpellingOf(uint32_t word) const {
    const VocabularyTrie trie = vocabulary_.trie();
    uint32_t node = VocabularyTrie::kRoot;
    while (trie.WordAt(node) != word) ++node;
    return trie.Spelling(node);
  }

  void SetCounts() {
    header_.order = static_cast<uint32_t>(reader_.order());
    header_.num_vocabulary_nodes = static_cast<uint32_t>(vocabulary_.labels.size());
    for (size_t k = 0; k < header_.order; ++k) {
      const bool is_highest = k > 0 && k + 1 == header_.order;
      const size_t count = is_highest ? levels_->leaves().size() : levels_->levels()[k].size();
      header_.num_entries[k] = static_cast<uint32_t>(count);
      header_.num_ngrams[k] = static_cast<uint32_t>(reader_.count(static_cast<int>(k) + 1));
    }
    std::memcpy(header_.magic, kImageMagic.data(), sizeof(header_.magic));
    header_.version = kImageVersion;
    header_.size = ImageLayout(header_).size;
  }

  template <typename Item>
  static void Copy(const std::vector<Item>& items, uint64_t offset, MappedBytes* image) {
    if (items.empty()) return;
    std::memcpy(image->mutable_data() + offset, items.data(), items.size() * sizeof(Item));
  }

  MappedBytes WriteImage() const {
    const ImageLayout layout(header_);
    MappedBytes image(layout.size);
    Copy(vocabulary_.nodes, layout.vocabulary, &image);
    Copy(vocabulary_.labels, layout.labels, &image);
    for (size_t k = 0; k < header_.order; ++k) {
      if (k + 1 < header_.order) {
        Copy(levels_->levels()[k], layout.levels[k], &image);
        const NgramEntry end = {0, 0, 0, header_.num_entries[k + 1]};
        std::memcpy(image.mutable_data() + layout.levels[k] +
                        uint64_t{header_.num_entries[k]} * sizeof(end),
                    &end, sizeof(end));
      } else if (k > 0) {
        Copy(levels_->leaves(), layout.levels[k], &image);
      } else {
        std::vector<LeafEntry> leaves;
        for (const NgramEntry& entry : levels_->levels()[0]) {
          leaves.push_back({entry.word, entry.log10_prob});
        }
        Copy(leaves, layout.levels[k], &image);
      }
    }
    ImageHeader header = header_;
    std::memcpy(image.mutable_data(), &header, sizeof(header));
    const Checksum checksum = ComputeChecksum(image.data(), image.size());
    std::memcpy(image.mutable_data() + offsetof(ImageHeader, checksum), checksum.data(),
                checksum.size());
    return image;
  }

  LineReader* lines_;
  const std::function<void(double)>& progress_;
  ArpaReader reader_;
  ImageHeader header_ = {};
  VocabularyNodes vocabulary_;
  std::optional<TrieBuilder> levels_;
  uint64_t first_line_ = 0;  // of the section that is read
};

}  // namespace

MappedBytes CompileArpa(LineReader* lines, const std::function<void(double)>& progress,
                        const NemoWords* nemo_words) {
  return ArpaCompiler(lines, progress, nemo_words).Compile();
}

}  // namespace runnel
