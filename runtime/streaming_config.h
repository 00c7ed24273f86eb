// The chunk sizes and left contexts that a model recommends and permits.
#ifndef RUNNEL_RUNTIME_STREAMING_CONFIG_H_
#define RUNNEL_RUNTIME_STREAMING_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace runnel {

// All sizes in this file are in encoder frames. chunk_size -1: the whole utterance. left_context
// -1: unlimited. right_context -1: none, the chunks are no windows.
struct StreamingSetting {
  int64_t chunk_size = -1;
  int64_t left_context = -1;
  int64_t right_context = -1;
  bool cached_windows = false;

  // E.g. "C=4 M=13", "C=full M=all", "C=16 M=128 R=16", "C=16 M=128 R=16 cached".
  std::string Name() const;
};

// An empty optional means no limit.
struct StreamingConfig {
  int64_t chunk_size = 16;    // recommended
  int64_t left_context = 64;  // recommended
  int64_t min_chunk_size = 1;
  std::optional<int64_t> max_chunk_size;
  std::optional<int64_t> max_left_context;
  // The only settings that the model was trained for; empty: any within the limits.
  std::vector<StreamingSetting> only;
  // Of an offline model, which recommends the whole utterance: the window for live audio.
  std::optional<StreamingSetting> window;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAMING_CONFIG_H_
