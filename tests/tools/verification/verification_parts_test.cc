// The parts of verify_streaming: settings, noise, the table of checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/support/error_message.h"
#include "tools/cli/speech_noise.h"
#include "tools/verification/check.h"
#include "tools/verification/setting.h"

namespace runnel {
namespace {

using testing::Contains;

std::set<std::string> GridNames(const StreamingConfig& limits) {
  std::set<std::string> names;
  ModelConfig config;
  config.streaming = limits;
  for (const StreamingSetting& setting : SettingGrid(config)) {
    EXPECT_TRUE(names.insert(setting.Name()).second) << setting.Name() << " comes twice";
  }
  return names;
}

TEST(SettingGridTest, CoversChunkSizesAndContexts) {
  const std::set<std::string> names = GridNames(StreamingConfig());
  for (const std::string name :
       {"C=1 M=0", "C=1 M=1", "C=1 M=4", "C=1 M=all", "C=3 M=10", "C=16 M=49", "C=16 M=16",
        "C=full M=all", "C=full M=0", "C=16 M=64"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
  EXPECT_EQ(names.size(), 32U);
}

TEST(SettingGridTest, GroupsOfFramesAreNotCut) {
  ModelConfig config;
  config.encoder.num_layers = 1;
  config.encoder.position = GroupedUnshifted{{}, {3}};
  std::set<std::string> names;
  for (const StreamingSetting& setting : SettingGrid(config)) names.insert(setting.Name());
  for (const std::string name : {"C=3 M=0", "C=3 M=3", "C=12 M=all", "C=48 M=147", "C=full M=0"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
  EXPECT_GE(names.size(), 29U);
}

TEST(SettingGridTest, KeepsToTheModelsLimits) {
  StreamingConfig limits;
  limits.chunk_size = 6;
  limits.left_context = 9;
  limits.min_chunk_size = 4;
  limits.max_chunk_size = 8;
  limits.max_left_context = 10;
  EXPECT_EQ(GridNames(limits),
            (std::set<std::string>{"C=4 M=0", "C=4 M=1", "C=4 M=4", "C=6 M=0", "C=6 M=1", "C=6 M=6",
                                   "C=6 M=9", "C=8 M=0", "C=8 M=1", "C=8 M=8"}));
}

TEST(SettingGridTest, OnlyWhatTheModelWasTrainedFor) {
  StreamingConfig limits;
  limits.chunk_size = 14;
  limits.left_context = 70;
  limits.only = {{14, 70}, {1, 70}};
  EXPECT_EQ(GridNames(limits), (std::set<std::string>{"C=14 M=70", "C=1 M=70"}));
}

TEST(SettingGridTest, AnOfflineModelHasWindows) {
  StreamingConfig limits;
  limits.chunk_size = -1;
  limits.left_context = -1;
  limits.window = StreamingSetting{8, 32, 8};
  const std::set<std::string> names = GridNames(limits);
  for (const std::string name :
       {"C=4 M=20 R=7", "C=1 M=8 R=3", "C=8 M=32 R=8", "C=4 M=20 R=7 cached"}) {
    EXPECT_EQ(names.count(name), 1U) << name;
  }
}

TEST(WidestSettingTest, IsTheWidestPermitted) {
  StreamingConfig limits;
  EXPECT_EQ(WidestSetting(limits).Name(), "C=full M=all");
  limits.max_left_context = 10;
  EXPECT_EQ(WidestSetting(limits).Name(), "C=full M=10");
  limits.max_chunk_size = 8;
  EXPECT_EQ(WidestSetting(limits).Name(), "C=8 M=10");
  limits.max_left_context.reset();
  EXPECT_EQ(WidestSetting(limits).Name(), "C=8 M=all");
  limits.only = {{1, 70}, {14, 70}, {14, 28}};
  EXPECT_EQ(WidestSetting(limits).Name(), "C=14 M=70");
  limits.only = {{1, 70}, {14, -1}, {14, 70}};
  EXPECT_EQ(WidestSetting(limits).Name(), "C=14 M=all");
  limits.only = {{-1, 70}, {14, -1}};
  EXPECT_EQ(WidestSetting(limits).Name(), "C=full M=70");
}

TEST(NoiseTest, IsSeededBoundedAndNotSilent) {
  const std::vector<float> samples = SpeechShapedNoise(2.5, 16000, 3);
  EXPECT_EQ(samples.size(), 40000U);
  EXPECT_EQ(samples, SpeechShapedNoise(2.5, 16000, 3));
  EXPECT_NE(samples, SpeechShapedNoise(2.5, 16000, 4));
  const auto [lowest, highest] = std::minmax_element(samples.begin(), samples.end());
  EXPECT_GE(*lowest, -1.0F);
  EXPECT_LE(*highest, 1.0F);
  EXPECT_GT(*highest, 0.05F);
}

TEST(CheckTest, RemembersTheLargestErrorAndItsSetting) {
  Check check("a = b", 1e-3);
  EXPECT_TRUE(check.passed());
  check.Record("first", {1e-4, 1e-4});
  EXPECT_TRUE(check.passed());
  check.Record("second", {0.1, 0.01});
  check.Record("third", {0, 0});
  EXPECT_FALSE(check.passed());
  EXPECT_EQ(check.Failure(),
            "check 'a = b' failed at second: relative error 1.0e-02, tolerance 1.0e-03");
  EXPECT_TRUE(Contains(check.TableRow(), "1.0e-01"));
  EXPECT_TRUE(Contains(check.TableRow(), "FAILED"));
}

TEST(CheckTest, NotANumberFailsForGood) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Check check("a = b", 1e-3);
  check.Record("bad", {kNan, kNan});
  check.Record("good", {0, 0});
  check.Record("worse", {1, 1});
  EXPECT_FALSE(check.passed());
  EXPECT_TRUE(Contains(check.Failure(), "failed at bad: relative error nan"));
}

}  // namespace
}  // namespace runnel
