// SHA-256, which identifies models and word lists by their contents and guards snapshots.
#ifndef RUNNEL_RUNTIME_SNAPSHOT_SHA256_H_
#define RUNNEL_RUNTIME_SNAPSHOT_SHA256_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace runnel {

// Computed by OpenSSL; throws std::runtime_error when that fails. One thread at a time.
class Sha256 {
 public:
  static constexpr size_t kSize = 32;  // bytes

  Sha256();

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
  struct Deleter {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Deleter> context_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SNAPSHOT_SHA256_H_
