// Architectures in which every option of the encoder occurs, against values of the reference in
// PyTorch (tests/golden/encoder/README.md).
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/model_file/model_archive.h"
#include "encoder/model_file/weights.h"
#include "encoder/rows.h"
#include "runtime/model/model_config.h"
#include "tests/support/archive_files.h"
#include "tests/support/arithmetic.h"
#include "tests/support/matrices.h"
#include "tests/support/playback.h"
#include "tests/support/relative_error.h"

namespace runnel {
namespace {

using testing::Arithmetic;
using testing::ForwardUnderMask;
using testing::Normalize;
using testing::RelativeError;

const std::string kFolder = RUNNEL_SOURCE_DIR "/tests/golden/encoder/variants/";

std::vector<std::string> Names() {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kFolder)) {
    const std::string stem = file.path().stem().string();
    if (stem.find("_goldens") == std::string::npos) names.insert(stem);
  }
  return {names.begin(), names.end()};
}

// "c4_mm1" -> 4, -1.
StreamingSetting SettingOf(const std::string& text) {
  static const std::regex pattern("c(m?)(\\d+)_m(m?)(\\d+)");
  std::smatch match;
  if (!std::regex_match(text, match, pattern)) throw std::runtime_error("a setting: " + text);
  const auto number = [&](size_t sign) {
    return (match[sign].length() > 0 ? -1 : 1) * std::stoll(match[sign + 1]);
  };
  return {number(1), number(3)};
}

class EncoderVariantsGoldenTest
    : public ::testing::TestWithParam<std::tuple<std::string, Arithmetic>> {};

INSTANTIATE_TEST_SUITE_P(All, EncoderVariantsGoldenTest,
                         ::testing::Combine(::testing::ValuesIn(Names()),
                                            ::testing::ValuesIn(testing::FullPrecision())),
                         [](const auto& variant) {
                           return std::get<0>(variant.param) + "_" +
                                  std::get<1>(variant.param).name;
                         });

TEST_P(EncoderVariantsGoldenTest, GivesTheRecordedValues) {
  const auto& [name, arithmetic] = GetParam();
  ModelArchive archive = ReadModelArchive(kFolder + name + ".pt");
  const ModelConfig config = ParseModelConfig(archive.config_json, name);
  Weights weights(std::move(archive.tensors), arithmetic.type, name);
  const Encoder encoder(config.encoder, &weights,
                        *arithmetic.MakeBackend(config.encoder, &weights));
  const auto goldens = testing::Goldens("encoder/variants/" + name + "_goldens.pt");
  const Matrix features = testing::Converted(goldens.at("features"), DataType::kFloat32);
  int compared = 0;
  for (const auto& [golden, expected] : goldens) {
    const size_t underscore = golden.find('_');
    if (underscore == std::string::npos) continue;
    SCOPED_TRACE(golden);
    const StreamingSetting setting = SettingOf(golden.substr(underscore + 1));
    ++compared;
    if (golden.substr(0, underscore) == "normalized") {
      EXPECT_LE(RelativeError(Normalize(encoder, features, setting.chunk_size), expected),
                arithmetic.FromExact());
      continue;
    }
    ASSERT_EQ(golden.substr(0, underscore), "encode");
    EXPECT_LE(
        RelativeError(ForwardUnderMask(encoder, features, setting.chunk_size, setting.left_context),
                      expected),
        arithmetic.FromExact());
    EXPECT_LE(RelativeError(
                  testing::RunAlone(encoder, features, setting.chunk_size, setting.left_context),
                  expected),
              arithmetic.FromExact());
  }
  EXPECT_GE(compared, 1);
}

TEST(EncoderVariantsGoldenFilesTest, AllAreThere) { EXPECT_GE(Names().size(), 25U); }

}  // namespace
}  // namespace runnel
