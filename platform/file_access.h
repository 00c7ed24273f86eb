// Files by their paths: opens streams of the C library, and tells what the system lets this process
// write.
#ifndef RUNNEL_PLATFORM_FILE_ACCESS_H_
#define RUNNEL_PLATFORM_FILE_ACCESS_H_

#include <cstdio>
#include <string>
#include <system_error>

namespace runnel {

// As std::fopen. No byte is translated.
std::FILE* OpenStream(const std::string& path, const char* mode);

// Why an existing file may not be written; no error where it may.
std::error_code CheckFileWritable(const std::string& path);
// Why no file may be created in an existing folder; no error where one may, or where that is not
// known before.
std::error_code CheckFolderWritable(const std::string& path);

// Whether a device, which is neither a regular file nor a folder, can be written at any place.
bool IsSeekableDevice(const std::string& path);

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_FILE_ACCESS_H_
