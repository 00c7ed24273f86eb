#include "platform/library.h"

#include <dlfcn.h>

namespace runnel {
namespace {

#ifdef __APPLE__
constexpr char kRunPath[] = "@rpath/";  // a mere name is also searched in the current folder
#else
constexpr char kRunPath[] = "";
#endif

}  // namespace

Library LoadLibraryNamed(const std::string& name) {
  void* handle = ::dlopen((kRunPath + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  return {handle, handle == nullptr ? ::dlerror() : ""};
}

void* FunctionOf(const Library& library, const char* name) { return ::dlsym(library.handle, name); }

}  // namespace runnel
