// Builds the levels of the n-gram trie from n-grams in any order.
#ifndef RUNNEL_RUNTIME_NGRAM_TRIE_BUILDER_H_
#define RUNNEL_RUNTIME_NGRAM_TRIE_BUILDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/ngram/image_format.h"

namespace runnel {

// Level by level: Add all n-grams of 2 words, FinishLevel, then those of 3 words, and so on. The
// memory is little more than that of the levels.
class TrieBuilder {
 public:
  using Words = std::array<uint32_t, kMaxNgramOrder>;

  // Called for an n-gram that was added twice, with its words and the line of the second one; must
  // throw.
  using OnDuplicate = std::function<void(const Words& words, int length, uint32_t line)>;

  // `unigrams`: entry i is word i.
  TrieBuilder(std::vector<NgramEntry> unigrams, int order, OnDuplicate on_duplicate);

  // Memory for `count` more n-grams.
  void Reserve(uint64_t count) { pending_.reserve(count); }

  // Adds an n-gram of the level after the last finished one. `line` tells n-grams of a level apart.
  // Throws std::length_error when the level is too large.
  void Add(const Words& words, float log10_prob, float log10_backoff, uint32_t line);

  // Inserts placeholders where n-grams begin with words that are no n-gram.
  void FinishLevel();

  // After the last level.
  //
  // The levels below the highest, without the last item that ends the children of the others.
  const std::vector<std::vector<NgramEntry>>& levels() const { return levels_; }
  // The highest level of a model of order 2 or more.
  const std::vector<LeafEntry>& leaves() const { return leaves_; }

 private:
  // An n-gram whose first words are an entry.
  struct Pending {
    uint32_t parent;  // in the level before
    uint32_t word;
    float log10_prob;
    float log10_backoff;
    uint32_t line;
  };
  // An n-gram whose first words are no entry yet.
  struct Orphan {
    Words words;
    float log10_prob;
    float log10_backoff;
    uint32_t line;
  };
  struct Edge {
    uint32_t parent;
    uint32_t word;
  };

  // The length of the n-grams that are being added.
  int length() const { return static_cast<int>(levels_.size()) + 1; }
  // The end of the children of an entry of levels_[level].
  uint32_t EndOfChildren(size_t level, uint32_t entry) const;
  uint32_t FindChild(size_t level, uint32_t entry, uint32_t word) const;
  // The entry of the first `length` words, or kNoIndex.
  uint32_t FindEntry(const Words& words, int length) const;
  // The same for length() - 1 words; fast when the words before were nearly the same.
  uint32_t FindParent(const Words& words);
  void InsertPlaceholders();
  void InsertPlaceholders(size_t level, const std::vector<Edge>& edges);
  void CheckDuplicates() const;
  Words WordsOf(const Pending& pending) const;

  const int order_;
  const OnDuplicate on_duplicate_;
  std::vector<std::vector<NgramEntry>> levels_;
  std::vector<LeafEntry> leaves_;
  std::vector<Pending> pending_;
  std::vector<Orphan> orphans_;
  // The last words whose parent was found, and the entries of their beginnings.
  Words last_words_;
  Words last_entries_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_TRIE_BUILDER_H_
