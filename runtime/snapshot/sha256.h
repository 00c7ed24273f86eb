// SHA-256, which identifies models and word lists by their contents and guards snapshots.
#ifndef RUNNEL_RUNTIME_SNAPSHOT_SHA256_H_
#define RUNNEL_RUNTIME_SNAPSHOT_SHA256_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "platform/sha256_state.h"

namespace runnel {

// Methods throw std::runtime_error as those of Sha256State. One thread at a time.
class Sha256 {
 public:
  static constexpr size_t kSize = 32;  // bytes

  Sha256& Add(const void* bytes, size_t count);
  // A number is added as 8 bytes, a text after its length, so that different sequences of calls add
  // different bytes.
  Sha256& AddNumber(int64_t number);
  Sha256& AddText(std::string_view text);

  // The hash of everything added, kSize bytes. No other call may follow.
  std::string Bytes();
  // Its first half, as 32 lower-case hexadecimal digits. No other call may follow.
  std::string Fingerprint();
  static bool IsFingerprint(std::string_view text);

 private:
  Sha256State state_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SNAPSHOT_SHA256_H_
