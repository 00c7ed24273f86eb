// SaveFile writes its parts in order, whatever their sizes.
#include "runtime/files/file.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/mapped_bytes.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

constexpr size_t kBlockBytes = size_t{2} << 20;  // as in file.cc

TEST(SaveFileTest, PartsOfAnySizeMakeTheFile) {
  const testing::TemporaryFolder folder;
  const std::vector<std::vector<size_t>> cuts = {
      {},
      {0},
      {1, 0, kBlockBytes - 1, 0},
      {kBlockBytes, 1},
      {kBlockBytes + 1, kBlockBytes - 1, 3},
      {5, 3 * kBlockBytes, kBlockBytes - 5},
  };
  for (const std::vector<size_t>& sizes : cuts) {
    std::string whole;
    for (const size_t size : sizes) {
      for (size_t i = 0; i < size; ++i) {
        whole += static_cast<char>(whole.size() * 2654435761U >> 13);
      }
    }
    std::vector<std::string_view> parts;
    size_t begin = 0;
    for (const size_t size : sizes) {
      parts.push_back(std::string_view(whole).substr(begin, size));
      begin += size;
    }
    SaveFile(folder.File("saved"), parts);
    EXPECT_TRUE(testing::ReadBytes(folder.File("saved")) == whole) << whole.size() << " bytes";
    if (whole.empty()) continue;
    const MappedBytes mapped = File(folder.File("saved")).Map();
    EXPECT_TRUE(std::string_view(reinterpret_cast<const char*>(mapped.data()), mapped.size()) ==
                whole)
        << whole.size() << " bytes";
  }
}

}  // namespace
}  // namespace runnel
