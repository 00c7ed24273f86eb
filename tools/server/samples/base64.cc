#include "tools/server/samples/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace runnel::server {
namespace {

constexpr size_t kMaxSize = std::numeric_limits<int>::max();

bool IsDigit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

size_t PaddingOf(std::string_view text) {
  size_t count = 0;
  while (count < 2 && count < text.size() && text[text.size() - 1 - count] == '=') ++count;
  return count;
}

}  // namespace

std::optional<std::string> DecodeBase64(std::string_view text) {
  const size_t padding = PaddingOf(text);
  // OpenSSL's decoder passes over white space at the ends and takes a minus for an end.
  if (text.size() % 4 != 0 || text.size() > kMaxSize ||
      !std::all_of(text.begin(), text.end() - static_cast<ptrdiff_t>(padding), IsDigit)) {
    return std::nullopt;
  }
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  if (size != static_cast<int>(bytes.size())) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace runnel::server
