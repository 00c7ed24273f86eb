#include "tools/verification/setting.h"

#include <set>

namespace runnel {
namespace {

constexpr int64_t kFull = -1;
constexpr int64_t kUnlimited = -1;

bool IsAllowed(const StreamingSetting& setting, const StreamingConfig& limits) {
  const bool chunk_allowed =
      setting.chunk_size == kFull
          ? !limits.max_chunk_size.has_value()
          : setting.chunk_size >= limits.min_chunk_size &&
                setting.chunk_size <= limits.max_chunk_size.value_or(setting.chunk_size);
  const bool context_allowed =
      setting.left_context == kUnlimited
          ? !limits.max_left_context.has_value()
          : setting.left_context <= limits.max_left_context.value_or(setting.left_context);
  return chunk_allowed && context_allowed;
}

// No frame is before the first chunk, so a whole utterance has few contexts to tell apart.
std::set<int64_t> LeftContexts(int64_t chunk_size) {
  if (chunk_size == kFull) return {0, kUnlimited};
  return {0, 1, chunk_size, 3 * chunk_size + 1, kUnlimited};
}

}  // namespace

std::string StreamingSetting::Name() const {
  return "C=" + (chunk_size == kFull ? "full" : std::to_string(chunk_size)) +
         " M=" + (left_context == kUnlimited ? "all" : std::to_string(left_context));
}

std::vector<StreamingSetting> SettingGrid(const StreamingConfig& config) {
  std::set<int64_t> chunk_sizes = {kFull, 1, 2, 3, 4, 8, 16};
  chunk_sizes.insert(config.chunk_size);
  std::vector<StreamingSetting> settings;
  for (const int64_t chunk_size : chunk_sizes) {
    std::set<int64_t> left_contexts = LeftContexts(chunk_size);
    if (chunk_size == config.chunk_size) left_contexts.insert(config.left_context);
    for (const int64_t left_context : left_contexts) {
      const StreamingSetting setting{chunk_size, left_context};
      if (IsAllowed(setting, config)) settings.push_back(setting);
    }
  }
  return settings;
}

}  // namespace runnel
