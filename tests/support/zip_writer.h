// Writes zip files as LibTorch does: entries as they are, with 64-bit fields.
#ifndef RUNNEL_TESTS_SUPPORT_ZIP_WRITER_H_
#define RUNNEL_TESTS_SUPPORT_ZIP_WRITER_H_

#include <string>
#include <utility>
#include <vector>

namespace runnel::testing {

// By name, in the order of the file.
using ZipEntries = std::vector<std::pair<std::string, std::string>>;

// The bytes of a zip file that holds `entries`.
std::string ZipBytes(const ZipEntries& entries);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_ZIP_WRITER_H_
