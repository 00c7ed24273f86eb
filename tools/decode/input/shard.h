// One of n parts of a list of recordings, for n processes that decode the list together.
#ifndef RUNNEL_TOOLS_DECODE_INPUT_SHARD_H_
#define RUNNEL_TOOLS_DECODE_INPUT_SHARD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/decode/input/recording_list.h"

namespace runnel {

// Recordings `index`, `index` + `count`, ... of a list, counted from 1. The default is the whole
// list.
struct Shard {
  int64_t index = 1;
  int64_t count = 1;

  // "3-of-10".
  std::string Name() const;
};

// "3/10". Throws std::invalid_argument otherwise.
Shard ParseShard(const std::string& text);

// The value of an environment variable; null when it is not set.
using Environment = std::function<const char*(const char* name)>;

// The shard of this task of a Slurm array (SLURM_ARRAY_TASK_ID etc.); no value outside of an array.
// Throws std::invalid_argument when the task numbers do not start at 0 or 1 or have gaps, as in an
// array that repeats some tasks of another.
std::optional<Shard> ShardFromSlurm(const Environment& environment);

// In the order of the list; empty when there are more shards than recordings.
std::vector<Recording> SelectShard(const std::vector<Recording>& recordings, const Shard& shard);

// Stands for the name of the shard in a file name.
constexpr char kShardPlaceholder[] = "{shard}";

// `file_name` with every {shard} replaced by the name of the shard.
std::string FileNameOfShard(const std::string& file_name, const Shard& shard);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_INPUT_SHARD_H_
