// The part of a list that a process decodes, by flag or by Slurm's variables.
#include "tools/decode/input/shard.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/error_message.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;

std::vector<Recording> List(int size) {
  std::vector<Recording> recordings;
  for (int i = 0; i < size; ++i) recordings.push_back({std::to_string(i), "a.wav"});
  return recordings;
}

std::optional<Shard> FromSlurm(const std::map<std::string, std::string>& variables) {
  return ShardFromSlurm([&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

// The variables of Slurm for task `id` of --array=`min`-`max`:`step`.
std::map<std::string, std::string> Task(int id, int min, int max, int step, int count) {
  return {{"SLURM_ARRAY_TASK_ID", std::to_string(id)},
          {"SLURM_ARRAY_TASK_MIN", std::to_string(min)},
          {"SLURM_ARRAY_TASK_MAX", std::to_string(max)},
          {"SLURM_ARRAY_TASK_STEP", std::to_string(step)},
          {"SLURM_ARRAY_TASK_COUNT", std::to_string(count)}};
}

TEST(ShardTest, ShardsAreDisjointEvenAndAll) {
  for (const int size : {0, 1, 2, 7, 100}) {
    const std::vector<Recording> list = List(size);
    for (const int count : {1, 2, 3, 7, 10, 150}) {
      std::set<std::string> ids;
      size_t total = 0;
      for (int index = 1; index <= count; ++index) {
        const std::vector<Recording> part = SelectShard(list, {index, count});
        EXPECT_GE(part.size(), static_cast<size_t>(size / count));
        EXPECT_LE(part.size(), static_cast<size_t>((size + count - 1) / count));
        for (size_t i = 0; i < part.size(); ++i) {
          EXPECT_EQ(part[i].id, list[index - 1 + i * count].id);
          ids.insert(part[i].id);
        }
        total += part.size();
      }
      EXPECT_EQ(total, list.size());
      EXPECT_EQ(ids.size(), list.size());
    }
  }
}

TEST(ShardTest, Parses) {
  const Shard shard = ParseShard("3/10");
  EXPECT_EQ(shard.index, 3);
  EXPECT_EQ(shard.count, 10);
  EXPECT_EQ(shard.Name(), "3-of-10");
  EXPECT_EQ(ParseShard("999999999999/999999999999").index, 999999999999);
  EXPECT_EQ(FileNameOfShard("a{shard}/{shard}.txt", shard), "a3-of-10/3-of-10.txt");
  EXPECT_EQ(FileNameOfShard("{}{ shard }", shard), "{}{ shard }");
}

TEST(ShardTest, RefusesWhatIsNoShard) {
  for (const char* text : {"", "/", "1", "1/", "/1", "0/1", "2/1", "-1/2", "+1/2", "1/2/3", "1 /2",
                           "a/b", "1.0/2", "1/1000000000000000000000", "0/0"}) {
    EXPECT_TRUE(Contains(ErrorMessage<std::invalid_argument>([&] { ParseShard(text); }),
                         "', expected i/n, the i-th of n parts"));
  }
}

TEST(ShardFromSlurmTest, OneShardPerTask) {
  EXPECT_FALSE(FromSlurm({}));
  EXPECT_FALSE(FromSlurm({{"SLURM_JOB_ID", "7"}}));
  for (const int min : {0, 1}) {
    for (int task = 0; task < 5; ++task) {
      const auto shard = FromSlurm(Task(min + task, min, min + 4, 1, 5));
      ASSERT_TRUE(shard);
      EXPECT_EQ(shard->Name(), std::to_string(task + 1) + "-of-5");
    }
  }
  auto old_slurm = Task(2, 0, 4, 1, 5);
  old_slurm.erase("SLURM_ARRAY_TASK_STEP");
  old_slurm.erase("SLURM_ARRAY_TASK_COUNT");
  EXPECT_EQ(FromSlurm(old_slurm)->Name(), "3-of-5");
}

TEST(ShardFromSlurmTest, DoesNotGuess) {
  const std::string expected = "expected --shard=i/n";
  for (const auto& variables : {Task(7, 7, 7, 1, 1),     // one task, repeated
                                Task(3, 3, 5, 1, 3),     // some tasks, repeated
                                Task(5, 1, 9, 1, 3),     // --array=1,5,9
                                Task(4, 0, 8, 4, 3),     // with steps
                                Task(9, 1, 5, 1, 5)}) {  // nonsense
    EXPECT_TRUE(
        Contains(ErrorMessage<std::invalid_argument>([&] { FromSlurm(variables); }), expected));
  }
  auto variables = Task(2, 0, 4, 1, 5);
  variables["SLURM_ARRAY_TASK_MAX"] = "4294967294x";
  EXPECT_TRUE(Contains(ErrorMessage<std::invalid_argument>([&] { FromSlurm(variables); }),
                       "SLURM_ARRAY_TASK_MAX is '4294967294x', expected a number"));
  variables.erase("SLURM_ARRAY_TASK_MAX");
  EXPECT_TRUE(Contains(ErrorMessage<std::invalid_argument>([&] { FromSlurm(variables); }),
                       "SLURM_ARRAY_TASK_MAX is not set"));
}

}  // namespace
}  // namespace runnel
