// SHA-256, for what must be told apart by its contents: models, word lists, snapshots.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools.
#ifndef RUNNEL_RUNTIME_SHA256_H_
#define RUNNEL_RUNTIME_SHA256_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace runnel {

// OpenSSL's. Throws std::runtime_error when OpenSSL fails. One thread at a time.
class Sha256 {
 public:
  static constexpr size_t kSize = 32;  // bytes

  Sha256();

  Sha256& Add(const void* bytes, size_t count);
  // Numbers as 8 bytes, texts after their length, so that what follows cannot be taken for a part.
  Sha256& AddNumber(int64_t number);
  Sha256& AddText(std::string_view text);

  // The hash of all that was added, kSize bytes. Ends it.
  std::string Bytes();
  // The first half of it, in 32 lower-case hexadecimal digits. Ends it.
  std::string Fingerprint();
  static bool IsFingerprint(std::string_view text);

 private:
  struct Deleter {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Deleter> context_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SHA256_H_
