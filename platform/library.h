// Shared libraries that are loaded while the program runs.
#ifndef RUNNEL_PLATFORM_LIBRARY_H_
#define RUNNEL_PLATFORM_LIBRARY_H_

#include <string>

namespace runnel {

// A library stays loaded until the process ends.
struct Library {
  void* handle = nullptr;
  std::string problem;  // why there is no handle
};

// `name`: the file's name without its ending, which each system has its own of. It is searched in
// the run path of the program or the library that this code is part of, and where the system has
// libraries. On Windows it is beside that program or library.
Library LoadLibraryNamed(const std::string& name);
// Null: the library has none of this name.
void* FunctionOf(const Library& library, const char* name);

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_LIBRARY_H_
