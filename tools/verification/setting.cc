#include "tools/verification/setting.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <set>
#include <stdexcept>
#include <utility>

namespace runnel {
namespace {

constexpr int64_t kFull = -1;
constexpr int64_t kUnlimited = -1;

// Windows of offline models.
constexpr std::array<StreamingSetting, 6> kWindows = {
    {{1, 8, 3}, {4, 0, 0}, {4, 20, 7}, {16, 5, 1}, {4, 20, 7, true}, {16, 33, 5, true}}};

bool IsAllowed(const StreamingSetting& setting, const ModelConfig& config) {
  try {
    CheckStreaming(config, setting);
  } catch (const std::invalid_argument&) {
    return false;
  }
  return true;
}

// A whole utterance is one chunk with nothing before it, so all other contexts would be the same.
std::set<int64_t> LeftContexts(int64_t chunk_size, int64_t multiple) {
  if (chunk_size == kFull) return {0, kUnlimited};
  return {0, multiple, chunk_size, 3 * chunk_size + multiple, kUnlimited};
}

}  // namespace

std::vector<StreamingSetting> SettingGrid(const ModelConfig& config) {
  std::set<std::pair<int64_t, int64_t>> candidates;
  const int64_t multiple = config.encoder.ChunkMultiple();
  std::set<int64_t> chunk_sizes = {kFull, config.streaming.chunk_size};
  for (const int64_t count : {1, 2, 3, 4, 8, 16}) chunk_sizes.insert(count * multiple);
  for (const int64_t chunk_size : chunk_sizes) {
    for (const int64_t left_context : LeftContexts(chunk_size, multiple)) {
      candidates.insert({chunk_size, left_context});
    }
  }
  candidates.insert({config.streaming.chunk_size, config.streaming.left_context});
  for (const StreamingSetting& setting : config.streaming.only) {
    candidates.insert({setting.chunk_size, setting.left_context});
  }
  std::vector<StreamingSetting> settings;
  for (const auto& [chunk_size, left_context] : candidates) {
    const StreamingSetting setting{chunk_size, left_context};
    if (IsAllowed(setting, config)) settings.push_back(setting);
  }
  if (config.streaming.window) {
    std::copy_if(kWindows.begin(), kWindows.end(), std::back_inserter(settings),
                 [&](const StreamingSetting& setting) { return IsAllowed(setting, config); });
    settings.push_back(*config.streaming.window);
  }
  return settings;
}

StreamingSetting WidestSetting(const StreamingConfig& limits) {
  const StreamingSetting widest = {limits.max_chunk_size.value_or(kFull),
                                   limits.max_left_context.value_or(kUnlimited)};
  if (limits.only.empty()) return widest;
  // -1, which means no limit, becomes the largest value.
  const auto width = [](const StreamingSetting& setting) {
    return std::pair(static_cast<uint64_t>(setting.chunk_size),
                     static_cast<uint64_t>(setting.left_context));
  };
  return *std::max_element(
      limits.only.begin(), limits.only.end(),
      [&](const StreamingSetting& a, const StreamingSetting& b) { return width(a) < width(b); });
}

}  // namespace runnel
