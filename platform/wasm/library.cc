#include "platform/library.h"

namespace runnel {

Library LoadLibraryNamed(const std::string& name) {
  return {nullptr, name + ": WebAssembly loads no libraries"};
}

void* FunctionOf(const Library& /*library*/, const char* /*name*/) { return nullptr; }

}  // namespace runnel
