#include "runtime/files/checksum.h"

#define XXH_INLINE_ALL  // needs no library
#include <xxhash.h>

#include <cstring>
#include <memory>

namespace runnel {
namespace {

struct StateDeleter {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

}  // namespace

Checksum ChecksumOf(const std::vector<std::string_view>& parts) {
  const std::unique_ptr<XXH3_state_t, StateDeleter> state(XXH3_createState());
  XXH3_128bits_reset(state.get());
  for (const std::string_view part : parts) {
    XXH3_128bits_update(state.get(), part.data(), part.size());
  }
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state.get()));
  Checksum checksum;
  static_assert(sizeof(canonical.digest) == sizeof(checksum));
  std::memcpy(checksum.data(), canonical.digest, sizeof(checksum));
  return checksum;
}

}  // namespace runnel
