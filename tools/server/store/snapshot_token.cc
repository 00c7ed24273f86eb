#include "tools/server/store/snapshot_token.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <system_error>

namespace runnel::server {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr size_t kTokenBytes = 16;

}  // namespace

std::string NewSnapshotToken() {
  std::array<unsigned char, kTokenBytes> bytes;
  // getrandom returns up to 256 bytes whole or not at all.
  while (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += kHexDigits[byte >> 4];
    token += kHexDigits[byte & 15];
  }
  return token;
}

bool IsSnapshotToken(const std::string& token) {
  return token.size() == 2 * kTokenBytes &&
         token.find_first_not_of(kHexDigits) == std::string::npos;
}

}  // namespace runnel::server
