// The checksum of an image, which is also the fingerprint of the language model.
#ifndef RUNNEL_RUNTIME_NGRAM_CHECKSUM_H_
#define RUNNEL_RUNTIME_NGRAM_CHECKSUM_H_

#include <array>
#include <cstddef>
#include <string>

namespace runnel {

using ImageChecksum = std::array<unsigned char, 16>;

// XXH3 128 of the bytes after the checksum field, in the canonical (big-endian) form. `size` is at
// least kChecksumEnd.
ImageChecksum ComputeChecksum(const unsigned char* image, size_t size);

// The checksum field of an image as 32 lower-case hexadecimal digits.
std::string FingerprintOf(const unsigned char* image);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_CHECKSUM_H_
