#include "runtime/text/utf8.h"

#include <cstddef>

namespace runnel {
namespace {

// Bytes of the well-formed character at text[i], or 0.
size_t CharacterLength(std::string_view text, size_t i) {
  const auto byte_at = [text](size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const unsigned lead = byte_at(i);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte has a narrower range after four of the leads.
  const unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte_at(i + 1) < lowest || byte_at(i + 1) > highest) return 0;
  for (size_t k = 2; k < length; ++k) {
    if (byte_at(i + k) < 0x80 || byte_at(i + k) > 0xBF) return 0;
  }
  return length;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = CharacterLength(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

}  // namespace runnel
