#include "encoder/zip_check.h"

#include <stdexcept>

#include "encoder/zip_file.h"

namespace runnel {

void CheckZip(const std::string& path) {
  const ZipFile file(path, /*consistent=*/true);
  for (uint64_t i = 0; i < file.num_entries(); ++i) {
    const ZipEntry entry = file.Entry(i);
    // LibTorch allocates the size of a folder and reads nothing.
    if (entry.folder) {
      throw std::runtime_error("entry " + entry.PrintableName() + " is marked as a folder");
    }
    file.ForEachBlock(i, [](const char* /*data*/, size_t /*size*/) {});
  }
}

}  // namespace runnel
