#include "platform/library.h"

#include <windows.h>

#include <filesystem>
#include <system_error>

#include "platform/process.h"

namespace runnel {

// Named by its whole path, so that Windows does not look for it, or for what it needs, in the
// current folder and in those of PATH.
Library LoadLibraryNamed(const std::string& name) {
  const std::filesystem::path file = ModuleFolder() / std::filesystem::u8path(name + ".dll");
  constexpr DWORD kFolders = LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS;
  const HMODULE handle = ::LoadLibraryExW(file.c_str(), nullptr, kFolders);
  if (handle != nullptr) return {reinterpret_cast<void*>(handle), ""};
  const auto error = static_cast<int>(::GetLastError());  // some have a number and no text
  return {nullptr, file.u8string() + ": " + std::system_category().message(error) + ", error " +
                       std::to_string(error)};
}

void* FunctionOf(const Library& library, const char* name) {
  return reinterpret_cast<void*>(::GetProcAddress(reinterpret_cast<HMODULE>(library.handle), name));
}

}  // namespace runnel
