// This version compiles the committed ARPA texts to the committed images byte for byte, so a change
// of the format needs a new version. The fuzz target accepts them.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "runtime/language_model.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace runnel {
namespace {

TEST(LanguageModelCorpusTest, IsOfThisFormat) {
  const testing::TemporaryFolder folder;
  int num_images = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(RUNNEL_SOURCE_DIR "/tests/fuzz/corpus/language_model")) {
    SCOPED_TRACE(file.path().filename());
    const std::string bytes = testing::ReadBytes(file.path().string());
    EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()),
              0);
    if (file.path().extension() != ".bin") continue;
    ++num_images;
    auto text = file.path();
    const auto model = LanguageModel::Load(text.replace_extension(".arpa").string());
    model->Save(folder.File("lm.bin"));
    EXPECT_EQ(testing::ReadBytes(folder.File("lm.bin")), bytes);
    EXPECT_EQ(LanguageModel::Load(file.path().string())->fingerprint(), model->fingerprint());
  }
  EXPECT_EQ(num_images, 3);
}

}  // namespace
}  // namespace runnel
