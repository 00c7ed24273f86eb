#include "runtime/ngram/checksum.h"

#include <xxhash.h>

#include <cstring>
#include <string_view>

#include "runtime/ngram/image_format.h"

namespace runnel {

ImageChecksum ComputeChecksum(const unsigned char* image, size_t size) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(image + kChecksumEnd, size - kChecksumEnd));
  ImageChecksum checksum;
  static_assert(sizeof(canonical.digest) == sizeof(checksum));
  std::memcpy(checksum.data(), canonical.digest, sizeof(checksum));
  return checksum;
}

std::string FingerprintOf(const unsigned char* image) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  ImageChecksum checksum;
  std::memcpy(checksum.data(), image + offsetof(ImageHeader, checksum), sizeof(checksum));
  std::string text;
  for (const unsigned char byte : checksum) {
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

}  // namespace runnel
