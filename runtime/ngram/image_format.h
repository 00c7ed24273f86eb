// The format of a compiled language model, an image that is mapped and used as it is.
//
// This folder reads ARPA text, compiles it to an image, checks images, and looks up n-grams.
//
// The n-grams are a trie: an n-gram is a child of its first n-1 words. Level k holds the n-grams of
// k words, sorted by their words, so that children are adjacent.
//
//   section           items                               bytes each
//   header            1                                   136
//   vocabulary trie   num_vocabulary_nodes + 1            12
//   labels            num_vocabulary_nodes                1
//   level 1           num_entries[0] + 1                  16
//   ...
//   level order-1     num_entries[order-2] + 1            16
//   level order       num_entries[order-1]                8
//
// Each section begins at a multiple of kMappedAlignment, after zero bytes. Numbers are
// little-endian. The children of node i are the items first_child[i] to first_child[i + 1] - 1 of
// the next level; the last item of a section with n + 1 items is no node and only ends the
// children of the one before. The words are numbered 0, 1, ... in the order of their bytes; n-gram
// i of level 1 is word i.
#ifndef RUNNEL_RUNTIME_NGRAM_IMAGE_FORMAT_H_
#define RUNNEL_RUNTIME_NGRAM_IMAGE_FORMAT_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/checksum.h"
#include "runtime/files/mapped_bytes.h"

namespace runnel {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "images are little-endian and used as they lie in the file");

constexpr int kMaxNgramOrder = 8;
constexpr std::string_view kImageMagic = "RNLNGRAM";
constexpr uint64_t kImageVersion = 1;

// No word, no node.
constexpr uint32_t kNoIndex = std::numeric_limits<uint32_t>::max();
// The most items of a level: indices and their end are numbers below kNoIndex.
constexpr uint64_t kMaxItems = kNoIndex - 1;

struct ImageHeader {
  char magic[8];
  uint64_t version;
  unsigned char checksum[16];  // XXH3 128 of all bytes after this field, in its canonical form
  uint64_t size;               // of the image
  uint32_t order;
  uint32_t has_lower_case;  // 1 if a word has a lower-case letter; words like <s> do not count
  uint32_t has_upper_case;
  uint32_t unknown_word;  // <unk> or <UNK>, or kNoIndex
  uint32_t start_word;    // <s>
  uint32_t end_word;      // </s>
  uint32_t num_vocabulary_nodes;
  uint32_t num_entries[kMaxNgramOrder];  // per level, from level 1
  uint32_t num_ngrams[kMaxNgramOrder];   // the same without placeholders
  uint32_t zero;
};
static_assert(sizeof(ImageHeader) == 136);
constexpr size_t kChecksumEnd = offsetof(ImageHeader, size);

// The checksum of the bytes after that field. `size` is at least kChecksumEnd.
Checksum ComputeChecksum(const unsigned char* image, size_t size);

// The checksum field as 32 lower-case hexadecimal digits: the fingerprint of the language model.
std::string FingerprintOf(const unsigned char* image);

// A node of the vocabulary, a trie of bytes in breadth-first order. Node 0 is the root. The byte
// that leads to node i is labels[i]; siblings are in ascending order of their bytes.
struct VocabularyNode {
  uint32_t first_child;
  uint32_t word;     // the word that ends here, or kNoIndex
  float best_log10;  // the largest log10 p(word) of the words that begin here
};
static_assert(sizeof(VocabularyNode) == 12);

// The probability of an entry that is no n-gram: it stands for a missing n-gram with which others
// begin.
constexpr float kPlaceholder = 1;

struct NgramEntry {
  uint32_t word;        // the last one
  float log10_prob;     // at most 0, or kPlaceholder
  float log10_backoff;  // 0 for a placeholder
  uint32_t first_child;
};
static_assert(sizeof(NgramEntry) == 16);

// An entry of the highest level.
struct LeafEntry {
  uint32_t word;
  float log10_prob;
};
static_assert(sizeof(LeafEntry) == 8);

// The index of the item that has the child, among the first `count` items of a section.
template <typename Item>
uint32_t ParentOf(const Item* items, size_t count, uint32_t child) {
  const Item* const after =
      std::upper_bound(items, items + count, child,
                       [](uint32_t index, const Item& item) { return index < item.first_child; });
  return static_cast<uint32_t>(after - items) - 1;
}

// Where the sections of an image begin, in bytes.
struct ImageLayout {
  // Computed from the numbers of items in `header`, whose order must be 1 to kMaxNgramOrder.
  explicit ImageLayout(const ImageHeader& header);

  uint64_t vocabulary;
  uint64_t labels;
  std::array<uint64_t, kMaxNgramOrder> levels;  // up to the order
  uint64_t size;                                // of the image
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_IMAGE_FORMAT_H_
