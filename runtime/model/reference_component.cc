#include "runtime/model/reference_component.h"

#include <atomic>
#include <stdexcept>

#include "platform/library.h"
#include "runtime/version.h"

namespace runnel {
namespace {

std::atomic<bool> is_loaded{false};

}  // namespace

void* ReferenceFunction(const char* name, const std::string& user) {
  // Found beside the program or the library that this code is part of, by its run path.
  static const Library library = LoadLibraryNamed("librunnel_reference-" RUNNEL_VERSION);
  if (library.handle == nullptr) {
    throw std::runtime_error(user + " needs the reference, which cannot be loaded (" +
                             library.problem +
                             "); expected the Debian package runnel-reference, or a build with "
                             "RUNNEL_LIBTORCH=ON where LibTorch is installed");
  }
  is_loaded = true;
  void* function = FunctionOf(library, name);
  if (function == nullptr) {
    throw std::logic_error(std::string("the reference has no function ") + name);
  }
  return function;
}

bool IsReferenceLoaded() { return is_loaded; }

std::unique_ptr<const EncoderBackend> MakeReferenceBackend(const EncoderConfig& config,
                                                           Weights* weights) {
  auto* make = ReferenceFunction<decltype(runnel_reference_backend)>(
      "runnel_reference_backend", "the LibTorch backend (float64 has no other)");
  return std::unique_ptr<const EncoderBackend>(make(config, weights));
}

}  // namespace runnel
