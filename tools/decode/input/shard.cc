#include "tools/decode/input/shard.h"

#include <cstddef>
#include <stdexcept>

namespace runnel {
namespace {

// No list has as many recordings.
constexpr size_t kMaxDigits = 12;

// A decimal number without sign, or nothing.
std::optional<int64_t> ParseNumber(const std::string& text) {
  if (text.empty() || text.size() > kMaxDigits) return std::nullopt;
  if (text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoll(text);
}

// The value of a variable of the array; `missing` when it is not set.
int64_t SlurmNumber(const Environment& environment, const std::string& name,
                    std::optional<int64_t> missing) {
  const char* text = environment(name.c_str());
  const std::optional<int64_t> number = text == nullptr ? missing : ParseNumber(text);
  if (number) return *number;
  throw std::invalid_argument(
      name + (text == nullptr ? " is not set" : " is '" + std::string(text) + "'") +
      ", expected a number as Slurm sets it; --shard=i/n overrides it");
}

}  // namespace

std::string Shard::Name() const { return std::to_string(index) + "-of-" + std::to_string(count); }

Shard ParseShard(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash != std::string::npos) {
    const std::optional<int64_t> index = ParseNumber(text.substr(0, slash));
    const std::optional<int64_t> count = ParseNumber(text.substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count) return {*index, *count};
  }
  throw std::invalid_argument("--shard is '" + text +
                              "', expected i/n, the i-th of n parts, i from 1 to n");
}

std::optional<Shard> ShardFromSlurm(const Environment& environment) {
  if (environment("SLURM_ARRAY_TASK_ID") == nullptr) return std::nullopt;
  const int64_t id = SlurmNumber(environment, "SLURM_ARRAY_TASK_ID", std::nullopt);
  const int64_t min = SlurmNumber(environment, "SLURM_ARRAY_TASK_MIN", std::nullopt);
  const int64_t max = SlurmNumber(environment, "SLURM_ARRAY_TASK_MAX", std::nullopt);
  const int64_t step = SlurmNumber(environment, "SLURM_ARRAY_TASK_STEP", 1);
  const int64_t count = max - min + 1;
  const bool is_whole = min <= 1 && step == 1 && id >= min && id <= max &&
                        SlurmNumber(environment, "SLURM_ARRAY_TASK_COUNT", count) == count;
  if (is_whole) return Shard{id - min + 1, count};
  throw std::invalid_argument(
      "task " + std::to_string(id) + " of a Slurm array from " + std::to_string(min) + " to " +
      std::to_string(max) +
      " that does not count 0, 1, 2, ... or 1, 2, 3, ... without gaps, expected --shard=i/n to say "
      "which part this is");
}

std::vector<Recording> SelectShard(const std::vector<Recording>& recordings, const Shard& shard) {
  std::vector<Recording> selected;
  for (size_t i = static_cast<size_t>(shard.index) - 1; i < recordings.size();
       i += static_cast<size_t>(shard.count)) {
    selected.push_back(recordings[i]);
  }
  return selected;
}

std::string FileNameOfShard(const std::string& file_name, const Shard& shard) {
  const std::string placeholder = kShardPlaceholder;
  std::string name = file_name;
  for (size_t place = name.find(placeholder); place != std::string::npos;
       place = name.find(placeholder, place)) {
    name.replace(place, placeholder.size(), shard.Name());
  }
  return name;
}

}  // namespace runnel
