#include "runtime/ngram/image_format.h"

namespace runnel {
namespace {

// Rounds `offset` up to where a section may begin.
uint64_t Aligned(uint64_t offset) {
  return (offset + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

}  // namespace

ImageLayout::ImageLayout(const ImageHeader& header) : levels() {
  const uint64_t num_nodes = header.num_vocabulary_nodes;
  vocabulary = Aligned(sizeof(ImageHeader));
  labels = Aligned(vocabulary + (num_nodes + 1) * sizeof(VocabularyNode));
  uint64_t end = labels + num_nodes;
  for (uint32_t k = 0; k < header.order; ++k) {
    const uint64_t count = header.num_entries[k];
    levels[k] = Aligned(end);
    end = levels[k] +
          (k + 1 < header.order ? (count + 1) * sizeof(NgramEntry) : count * sizeof(LeafEntry));
  }
  size = end;
}

}  // namespace runnel
