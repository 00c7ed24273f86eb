// SHA-256, computed by a library of the system: OpenSSL, or Windows itself.
#ifndef RUNNEL_PLATFORM_SHA256_STATE_H_
#define RUNNEL_PLATFORM_SHA256_STATE_H_

#include <array>
#include <cstddef>
#include <memory>

namespace runnel {

// The hash of bytes that are added one after the other. Methods throw std::runtime_error when the
// library fails. One thread at a time.
class Sha256State {
 public:
  Sha256State();
  ~Sha256State();
  Sha256State(Sha256State&&) noexcept;
  Sha256State& operator=(Sha256State&&) noexcept;

  void Add(const void* bytes, size_t count);
  // No other call may follow.
  std::array<unsigned char, 32> Finish();

 private:
  class Context;
  std::unique_ptr<Context> context_;
};

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_SHA256_STATE_H_
