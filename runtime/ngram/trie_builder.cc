#include "runtime/ngram/trie_builder.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace runnel {

TrieBuilder::TrieBuilder(std::vector<NgramEntry> unigrams, int order, OnDuplicate on_duplicate)
    : order_(order), on_duplicate_(std::move(on_duplicate)) {
  levels_.push_back(std::move(unigrams));
  last_words_.fill(kNoIndex);
  last_entries_.fill(kNoIndex);
}

uint32_t TrieBuilder::EndOfChildren(size_t level, uint32_t entry) const {
  const std::vector<NgramEntry>& entries = levels_[level];
  if (entry + 1 < entries.size()) return entries[entry + 1].first_child;
  return static_cast<uint32_t>(levels_[level + 1].size());
}

uint32_t TrieBuilder::FindChild(size_t level, uint32_t entry, uint32_t word) const {
  const std::vector<NgramEntry>& children = levels_[level + 1];
  const auto begin = children.begin() + levels_[level][entry].first_child;
  const auto end = children.begin() + EndOfChildren(level, entry);
  const auto found = std::lower_bound(
      begin, end, word,
      [](const NgramEntry& child, uint32_t wanted) { return child.word < wanted; });
  if (found == end || found->word != word) return kNoIndex;
  return static_cast<uint32_t>(found - children.begin());
}

uint32_t TrieBuilder::FindEntry(const Words& words, int length) const {
  uint32_t entry = words[0];
  for (size_t k = 1; k < static_cast<size_t>(length) && entry != kNoIndex; ++k) {
    entry = FindChild(k - 1, entry, words[k]);
  }
  return entry;
}

uint32_t TrieBuilder::FindParent(const Words& words) {
  const auto context = static_cast<size_t>(length()) - 1;
  size_t same = 0;
  while (same < context && words[same] == last_words_[same]) ++same;
  for (size_t k = same; k < context; ++k) {
    last_words_[k] = words[k];
    if (k == 0) {
      last_entries_[0] = words[0];
    } else {
      last_entries_[k] = last_entries_[k - 1] == kNoIndex
                             ? kNoIndex
                             : FindChild(k - 1, last_entries_[k - 1], words[k]);
    }
  }
  return last_entries_[context - 1];
}

void TrieBuilder::Add(const Words& words, float log10_prob, float log10_backoff, uint32_t line) {
  if (pending_.size() + orphans_.size() >= kMaxItems) {
    throw std::length_error("too many n-grams of one length");
  }
  const uint32_t parent = FindParent(words);
  if (parent == kNoIndex) {
    orphans_.push_back({words, log10_prob, log10_backoff, line});
  } else {
    const uint32_t word = words[static_cast<size_t>(length()) - 1];
    pending_.push_back({parent, word, log10_prob, log10_backoff, line});
  }
}

void TrieBuilder::FinishLevel() {
  if (!orphans_.empty()) InsertPlaceholders();
  const auto order = [](const Pending& a, const Pending& b) {
    return std::tie(a.parent, a.word, a.line) < std::tie(b.parent, b.word, b.line);
  };
  if (!std::is_sorted(pending_.begin(), pending_.end(), order)) {
    std::sort(pending_.begin(), pending_.end(), order);
  }
  CheckDuplicates();
  size_t next = 0;
  std::vector<NgramEntry>& parents = levels_.back();
  for (uint32_t i = 0; i < parents.size(); ++i) {
    parents[i].first_child = static_cast<uint32_t>(next);
    while (next < pending_.size() && pending_[next].parent == i) ++next;
  }
  if (length() == order_) {
    leaves_.reserve(pending_.size());
    for (const Pending& ngram : pending_) leaves_.push_back({ngram.word, ngram.log10_prob});
  } else {
    std::vector<NgramEntry> entries;
    entries.reserve(pending_.size());
    for (const Pending& ngram : pending_) {
      entries.push_back({ngram.word, ngram.log10_prob, ngram.log10_backoff, 0});
    }
    levels_.push_back(std::move(entries));
  }
  std::vector<Pending>().swap(pending_);  // gives the memory back
  last_words_.fill(kNoIndex);
  last_entries_.fill(kNoIndex);
}

void TrieBuilder::InsertPlaceholders() {
  for (size_t level = 1; level < levels_.size(); ++level) {
    std::vector<Edge> edges;
    for (const Orphan& orphan : orphans_) {
      const uint32_t parent = FindEntry(orphan.words, static_cast<int>(level));
      const uint32_t word = orphan.words[level];
      if (FindChild(level - 1, parent, word) == kNoIndex) edges.push_back({parent, word});
    }
    const auto key = [](const Edge& edge) { return std::tie(edge.parent, edge.word); };
    std::sort(edges.begin(), edges.end(),
              [key](const Edge& a, const Edge& b) { return key(a) < key(b); });
    edges.erase(std::unique(edges.begin(), edges.end(),
                            [key](const Edge& a, const Edge& b) { return key(a) == key(b); }),
                edges.end());
    InsertPlaceholders(level, edges);
  }
  for (const Orphan& orphan : orphans_) {
    const auto context = static_cast<size_t>(length()) - 1;
    pending_.push_back({FindEntry(orphan.words, static_cast<int>(context)), orphan.words[context],
                        orphan.log10_prob, orphan.log10_backoff, orphan.line});
  }
  std::vector<Orphan>().swap(orphans_);
}

// `edges` lead to the missing entries of levels_[level], sorted, each once.
void TrieBuilder::InsertPlaceholders(size_t level, const std::vector<Edge>& edges) {
  std::vector<NgramEntry>& parents = levels_[level - 1];
  const std::vector<NgramEntry>& old_entries = levels_[level];
  if (old_entries.size() + edges.size() > kMaxItems) {
    throw std::length_error("too many n-grams of one length");
  }
  const bool has_children = level + 1 < levels_.size();
  // An entry that gets inserted before old entry i has no children.
  const auto placeholder = [&](uint32_t word, size_t i) {
    uint32_t first_child = 0;
    if (i < old_entries.size()) {
      first_child = old_entries[i].first_child;
    } else if (has_children) {
      first_child = static_cast<uint32_t>(levels_[level + 1].size());
    }
    return NgramEntry{word, kPlaceholder, 0, first_child};
  };
  std::vector<NgramEntry> entries;
  entries.reserve(old_entries.size() + edges.size());
  std::vector<uint32_t> new_indices(old_entries.size());
  auto edge = edges.begin();
  for (uint32_t parent = 0; parent < parents.size(); ++parent) {
    const uint32_t begin = parents[parent].first_child;
    const uint32_t end = EndOfChildren(level - 1, parent);
    parents[parent].first_child = static_cast<uint32_t>(entries.size());
    for (uint32_t i = begin; i < end; ++i) {
      for (; edge != edges.end() && edge->parent == parent && edge->word < old_entries[i].word;
           ++edge) {
        entries.push_back(placeholder(edge->word, i));
      }
      new_indices[i] = static_cast<uint32_t>(entries.size());
      entries.push_back(old_entries[i]);
    }
    for (; edge != edges.end() && edge->parent == parent; ++edge) {
      entries.push_back(placeholder(edge->word, end));
    }
  }
  if (!has_children) {
    for (Pending& ngram : pending_) ngram.parent = new_indices[ngram.parent];
  }
  levels_[level] = std::move(entries);
}

void TrieBuilder::CheckDuplicates() const {
  const auto second = std::adjacent_find(
      pending_.begin(), pending_.end(),
      [](const Pending& a, const Pending& b) { return a.parent == b.parent && a.word == b.word; });
  if (second != pending_.end()) on_duplicate_(WordsOf(*second), length(), (second + 1)->line);
}

TrieBuilder::Words TrieBuilder::WordsOf(const Pending& pending) const {
  Words words = {};
  uint32_t entry = pending.parent;
  words[static_cast<size_t>(length()) - 1] = pending.word;
  for (size_t level = levels_.size(); level-- > 0;) {
    words[level] = levels_[level][entry].word;
    if (level == 0) break;
    entry = ParentOf(levels_[level - 1].data(), levels_[level - 1].size(), entry);
  }
  return words;
}

}  // namespace runnel
