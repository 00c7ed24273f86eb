/* The version of these headers, for the preprocessor of C and C++. runnel_version() in
   runtime/c_api.h returns the version of the loaded library. CMake reads the version of the project
   from this file. */
#ifndef RUNNEL_RUNTIME_VERSION_H_
#define RUNNEL_RUNTIME_VERSION_H_

#define RUNNEL_VERSION "0.2.0"
#define RUNNEL_VERSION_MAJOR 0
#define RUNNEL_VERSION_MINOR 2
#define RUNNEL_VERSION_PATCH 0

#endif /* RUNNEL_RUNTIME_VERSION_H_ */
