// Checksums of mapped files, fast enough to be compared whenever one is opened.
#ifndef RUNNEL_RUNTIME_FILES_CHECKSUM_H_
#define RUNNEL_RUNTIME_FILES_CHECKSUM_H_

#include <array>
#include <string_view>
#include <vector>

namespace runnel {

using Checksum = std::array<unsigned char, 16>;

// XXH3 128 of the parts, one after the other, in the canonical (big-endian) form.
Checksum ChecksumOf(const std::vector<std::string_view>& parts);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_FILES_CHECKSUM_H_
