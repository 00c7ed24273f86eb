// This version writes the committed snapshots byte for byte, so a change of the format needs a new
// version. The fuzz target accepts them.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "runtime/snapshot/snapshot_format.h"
#include "runtime/snapshot_error.h"
#include "runtime/stream.h"
#include "runtime/word_list.h"
#include "tests/support/file_bytes.h"
#include "tests/support/tiny_streams.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace runnel {
namespace {

TEST(SnapshotCorpusTest, IsOfThisFormat) {
  const auto words =
      std::make_shared<const WordList>("a\nad\nbad\ncab\n", testing::Tiny()->tokens(), "words");
  int num_files = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(RUNNEL_SOURCE_DIR "/tests/fuzz/corpus/snapshot")) {
    const std::string name = file.path().filename().string();
    SCOPED_TRACE(name);
    ++num_files;
    const std::string bytes = testing::ReadBytes(file.path().string());
    ASSERT_GT(bytes.size(), kSnapshotHeaderSize + kSnapshotChecksumSize);
    // Without the kernels the tiny model has another fingerprint, but the same fields.
    const std::string contents = bytes.substr(
        kSnapshotHeaderSize, bytes.size() - kSnapshotHeaderSize - kSnapshotChecksumSize);
    const std::string sealed = SealSnapshot(testing::Tiny()->fingerprint(), contents);
    if (testing::Tiny()->is_bit_reproducible()) {
      EXPECT_EQ(sealed, bytes);
    }
    const bool has_words = name == "words" || name == "final";
    const auto restore = [&] {
      return Stream::Restore(testing::Tiny(), sealed, {has_words ? words : nullptr, nullptr});
    };
    if (name.rfind("refused", 0) == 0) {
      EXPECT_THROW(restore(), SnapshotError);
    } else {
      EXPECT_EQ(restore().Snapshot(), sealed);
    }
    EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
              0);
  }
  EXPECT_EQ(num_files, 13);
}

}  // namespace
}  // namespace runnel
