// PackedLinear in a build without oneDNN: cannot be made.
#include <stdexcept>

#include "encoder/cpu/kernels/packed_linear.h"

namespace runnel::kernels {
namespace {

[[noreturn]] void ThrowNoBackend() {
  throw std::runtime_error(
      "this build has no CPU backend (RUNNEL_KERNELS), expected the LibTorch backend to be "
      "asked for");
}

}  // namespace

struct PackedLinear::Parts {};

PackedLinear::PackedLinear(const float* /*weight*/, const float* /*bias*/, LinearShape /*shape*/,
                           MatmulType /*type*/, MatmulOutput /*result*/,
                           std::optional<Activation> /*activation*/) {
  ThrowNoBackend();
}
PackedLinear::PackedLinear(const StoredMatrix& /*matrix*/, const float* /*bias*/,
                           MatmulType /*type*/, MatmulOutput /*result*/,
                           std::optional<Activation> /*activation*/) {
  ThrowNoBackend();
}
std::string StoredMatrixKind(bool /*int8*/) { ThrowNoBackend(); }
PackedLinear::~PackedLinear() = default;
PackedLinear::PackedLinear(PackedLinear&&) noexcept = default;
PackedLinear& PackedLinear::operator=(PackedLinear&&) noexcept = default;

// No object exists whose methods could be called.
const LinearShape& PackedLinear::shape() const { throw std::logic_error("no PackedLinear"); }
StoredMatrix PackedLinear::Stored() const { throw std::logic_error("no PackedLinear"); }
void PackedLinear::Forward(const MatmulInput& /*x*/, int64_t /*rows*/, float* /*y*/) const {
  throw std::logic_error("no PackedLinear");
}
void PackedLinear::Forward(const MatmulInput& /*x*/, int64_t /*rows*/,
                           const MatmulInput& /*y*/) const {
  throw std::logic_error("no PackedLinear");
}

}  // namespace runnel::kernels
