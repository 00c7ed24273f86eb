// One of n parts of a list of recordings, so that n processes decode it together.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SHARD_H_
#define RUNNEL_TOOLS_SHARD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/recording_list.h"

namespace runnel {

// Recordings `index`, `index` + `count`, ... of a list, counted from 1. The default is all.
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

// The shard of a task of a Slurm array (SLURM_ARRAY_TASK_ID and those beside it), one per task;
// nothing outside of an array. Throws std::invalid_argument when the array's numbers do not say
// which: it starts neither at 0 nor at 1, as one that repeats some tasks of another does, or has
// gaps.
std::optional<Shard> ShardFromSlurm(const Environment& environment);

// In the order of the list; empty when there are more shards than recordings.
std::vector<Recording> SelectShard(const std::vector<Recording>& recordings, const Shard& shard);

// What a file name may hold for the shard's name.
constexpr char kShardPlaceholder[] = "{shard}";

// `file_name` with the shard's name wherever it says {shard}.
std::string FileNameOfShard(const std::string& file_name, const Shard& shard);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_SHARD_H_
