#include "runtime/ngram/vocabulary_builder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>

namespace runnel {
namespace {

// The words below a node.
struct WordRange {
  size_t begin;
  size_t end;
};

}  // namespace

VocabularyNodes BuildVocabulary(const std::vector<std::string_view>& words,
                                const std::vector<float>& log10_probs) {
  VocabularyNodes vocabulary;
  std::vector<VocabularyNode>& nodes = vocabulary.nodes;
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  const VocabularyNode empty = {0, kNoIndex, kLowest};
  nodes.push_back(empty);
  vocabulary.labels.push_back(0);
  // Breadth first: all nodes of one depth, then those of the next.
  std::vector<WordRange> ranges = {{0, words.size()}};
  std::vector<WordRange> next_ranges;
  size_t node = 0;
  for (size_t depth = 0; !ranges.empty(); ++depth) {
    next_ranges.clear();
    for (WordRange range : ranges) {
      nodes[node].first_child = static_cast<uint32_t>(nodes.size());
      if (words[range.begin].size() == depth) {
        nodes[node].word = static_cast<uint32_t>(range.begin);
        nodes[node].best_log10 = log10_probs[range.begin];
        ++range.begin;
      }
      while (range.begin < range.end) {
        const char label = words[range.begin][depth];
        size_t end = range.begin + 1;
        while (end < range.end && words[end][depth] == label) ++end;
        if (nodes.size() >= kMaxItems) throw std::length_error("too many words");
        nodes.push_back(empty);
        vocabulary.labels.push_back(static_cast<unsigned char>(label));
        next_ranges.push_back({range.begin, end});
        range.begin = end;
      }
      ++node;
    }
    ranges.swap(next_ranges);
  }
  nodes.push_back({static_cast<uint32_t>(nodes.size()), kNoIndex, 0});
  for (size_t i = nodes.size() - 1; i-- > 0;) {
    for (uint32_t child = nodes[i].first_child; child < nodes[i + 1].first_child; ++child) {
      nodes[i].best_log10 = std::max(nodes[i].best_log10, nodes[child].best_log10);
    }
  }
  return vocabulary;
}

}  // namespace runnel
