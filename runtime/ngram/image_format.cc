#include "runtime/ngram/image_format.h"

#include <cstring>

namespace runnel {
Checksum ComputeChecksum(const unsigned char* image, size_t size) {
  return ChecksumOf({{reinterpret_cast<const char*>(image) + kChecksumEnd, size - kChecksumEnd}});
}

std::string FingerprintOf(const unsigned char* image) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  Checksum checksum;
  std::memcpy(checksum.data(), image + offsetof(ImageHeader, checksum), sizeof(checksum));
  std::string text;
  for (const unsigned char byte : checksum) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

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
