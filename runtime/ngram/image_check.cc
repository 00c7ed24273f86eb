#include "runtime/ngram/image_check.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "runtime/ngram/image_format.h"

namespace runnel {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr float kHighest = std::numeric_limits<float>::max();

// False for a NaN.
bool IsLogProb(float value) { return value >= kLowest && value <= 0; }
bool IsFinite(float value) { return value >= kLowest && value <= kHighest; }

class ImageChecker {
 public:
  ImageChecker(const unsigned char* image, size_t size, const std::string& source)
      : image_(image), size_(size), source_(source) {}

  void Check() {
    ReadHeader();
    CheckChecksum();
    CheckHeaderFields();
    const ImageLayout layout(header_);
    Require(layout.size == size_, "its counts do not fit its size");
    CheckVocabulary(layout);
    for (uint32_t level = 1; level < header_.order; ++level) CheckLevel(layout, level);
    CheckLeaves(layout);
  }

 private:
  [[noreturn]] void Fail(const std::string& problem) const {
    throw std::runtime_error(source_ + ": " + problem);
  }
  void Require(bool holds, const char* problem) const {
    if (!holds) Fail("is damaged: " + std::string(problem) + "; expected a file of compile_lm");
  }

  void ReadHeader() {
    const std::string size = std::to_string(size_) + " bytes";
    if (size_ < sizeof(header_)) {
      Fail("is truncated (" + size + "); expected a compiled model, which has more");
    }
    std::memcpy(&header_, image_, sizeof(header_));
    if (header_.version != kImageVersion) {
      Fail("is a compiled model of format version " + std::to_string(header_.version) +
           "; expected version " + std::to_string(kImageVersion) + ": compile the ARPA text again");
    }
    if (header_.size != size_) {
      Fail("is truncated or damaged (" + size + "); expected " + std::to_string(header_.size) +
           " bytes");
    }
  }

  void CheckChecksum() const {
    const Checksum checksum = ComputeChecksum(image_, size_);
    Require(std::memcmp(checksum.data(), header_.checksum, checksum.size()) == 0,
            "its checksum is wrong");
  }

  void CheckHeaderFields() const {
    Require(header_.order >= 1 && header_.order <= kMaxNgramOrder, "its order is out of range");
    const uint32_t num_words = header_.num_entries[0];
    Require(num_words >= 1 && header_.num_vocabulary_nodes >= 2, "it has no words");
    Require(header_.num_vocabulary_nodes <= kMaxItems, "its vocabulary is too large");
    for (const uint32_t word : {header_.unknown_word, header_.start_word, header_.end_word}) {
      Require(word < num_words || word == kNoIndex, "a special word is out of range");
    }
    for (uint32_t k = 0; k < kMaxNgramOrder; ++k) {
      Require(header_.num_entries[k] <= kMaxItems, "a level is too large");
      Require(k < header_.order || header_.num_entries[k] == 0, "a level is above the order");
    }
  }

  template <typename Item>
  const Item* Items(uint64_t offset) const {
    return reinterpret_cast<const Item*>(image_ + offset);
  }

  void CheckVocabulary(const ImageLayout& layout) const {
    const auto* nodes = Items<VocabularyNode>(layout.vocabulary);
    const unsigned char* labels = image_ + layout.labels;
    const uint32_t count = header_.num_vocabulary_nodes;
    Require(nodes[0].first_child == 1 && nodes[count].first_child == count,
            "the vocabulary's nodes are not all in the trie");
    for (uint32_t i = 0; i < count; ++i) {
      const VocabularyNode& node = nodes[i];
      const uint32_t end = nodes[i + 1].first_child;
      Require(node.first_child > i && node.first_child <= end && end <= count,
              "the children of a vocabulary node are out of range");
      Require(node.word < header_.num_entries[0] || node.word == kNoIndex,
              "a vocabulary node's word is out of range");
      Require(IsLogProb(node.best_log10), "a probability in the vocabulary is out of range");
      bool ascends = true;
      for (uint32_t child = node.first_child; child + 1 < end; ++child) {
        ascends = ascends && labels[child] < labels[child + 1];
      }
      Require(ascends, "the children of a vocabulary node are not sorted");
    }
  }

  // A level below the highest.
  void CheckLevel(const ImageLayout& layout, uint32_t level) const {
    const auto* entries = Items<NgramEntry>(layout.levels[level - 1]);
    const uint32_t count = header_.num_entries[level - 1];
    const uint32_t num_below = header_.num_entries[level];
    Require(entries[0].first_child == 0 && entries[count].first_child == num_below,
            "the entries of a level are not all in the trie");
    uint32_t num_ngrams = 0;
    bool in_range = true;
    for (uint32_t i = 0; i < count; ++i) {
      const NgramEntry& entry = entries[i];
      const bool is_ngram = entry.log10_prob != kPlaceholder;
      in_range &= entry.first_child <= entries[i + 1].first_child;
      in_range &= entry.word < header_.num_entries[0];
      in_range &= !is_ngram || IsLogProb(entry.log10_prob);
      in_range &= IsFinite(entry.log10_backoff);
      num_ngrams += is_ngram ? 1 : 0;
    }
    Require(in_range, "an entry is out of range");
    Require(num_ngrams == header_.num_ngrams[level - 1], "it has another number of n-grams");
    if (level == 1) CheckWords(entries);
    // Now the children are known to be within the next level.
    if (level + 1 < header_.order) {
      CheckOrder(entries, count, Items<NgramEntry>(layout.levels[level]));
    } else {
      CheckOrder(entries, count, Items<LeafEntry>(layout.levels[level]));
    }
  }

  void CheckLeaves(const ImageLayout& layout) const {
    const auto* leaves = Items<LeafEntry>(layout.levels[header_.order - 1]);
    const uint32_t count = header_.num_entries[header_.order - 1];
    bool in_range = header_.num_ngrams[header_.order - 1] == count;
    for (uint32_t i = 0; i < count; ++i) {
      in_range &= leaves[i].word < header_.num_entries[0];
      in_range &= IsLogProb(leaves[i].log10_prob);
    }
    Require(in_range, "an entry of the highest level is out of range");
    if (header_.order == 1) CheckWords(leaves);
  }

  template <typename Entry>
  void CheckWords(const Entry* entries) const {
    bool is_numbered = true;
    for (uint32_t i = 0; i < header_.num_entries[0]; ++i) {
      is_numbered &= entries[i].word == i && entries[i].log10_prob <= 0;
    }
    Require(is_numbered, "the words are not numbered");
  }

  // Whether siblings ascend, as lookups need.
  template <typename Child>
  void CheckOrder(const NgramEntry* parents, uint32_t num_parents, const Child* children) const {
    bool ascends = true;
    for (uint32_t i = 0; i < num_parents; ++i) {
      const uint32_t end = parents[i + 1].first_child;
      for (uint32_t child = parents[i].first_child; child + 1 < end; ++child) {
        ascends &= children[child].word < children[child + 1].word;
      }
    }
    Require(ascends, "the children of an n-gram are not sorted");
  }

  const unsigned char* image_;
  size_t size_;
  const std::string& source_;
  ImageHeader header_ = {};
};

}  // namespace

bool HasImageMagic(std::string_view bytes) {
  return bytes.substr(0, kImageMagic.size()) == kImageMagic;
}

void CheckImage(const unsigned char* image, size_t size, const std::string& source) {
  ImageChecker(image, size, source).Check();
}

}  // namespace runnel
