#include "platform/library.h"

#include <dlfcn.h>

namespace runnel {

Library LoadLibraryNamed(const std::string& name) {
  void* handle = ::dlopen((name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  return {handle, handle == nullptr ? ::dlerror() : ""};
}

void* FunctionOf(const Library& library, const char* name) { return ::dlsym(library.handle, name); }

}  // namespace runnel
