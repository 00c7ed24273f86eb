#include "platform/library.h"

#include <windows.h>

#include <filesystem>
#include <system_error>

namespace runnel {

Library LoadLibraryNamed(const std::string& name) {
  const HMODULE handle = ::LoadLibraryW(std::filesystem::u8path(name + ".dll").c_str());
  if (handle != nullptr) return {reinterpret_cast<void*>(handle), ""};
  return {nullptr,
          name + ".dll: " + std::system_category().message(static_cast<int>(::GetLastError()))};
}

void* FunctionOf(const Library& library, const char* name) {
  return reinterpret_cast<void*>(::GetProcAddress(reinterpret_cast<HMODULE>(library.handle), name));
}

}  // namespace runnel
