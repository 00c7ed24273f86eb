// Checks of an image from a file that anyone may have written.
#ifndef RUNNEL_RUNTIME_NGRAM_IMAGE_CHECK_H_
#define RUNNEL_RUNTIME_NGRAM_IMAGE_CHECK_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace runnel {

// Whether a file that begins with these bytes, kImageMagic.size() of them, is an image.
bool HasImageMagic(std::string_view bytes);

// Throws std::runtime_error "source: what is wrong" unless version, size, checksum and structure
// are those of an image. Afterwards every lookup stays within the image, and every number is
// finite. Reads each byte twice.
void CheckImage(const unsigned char* image, size_t size, const std::string& source);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_IMAGE_CHECK_H_
