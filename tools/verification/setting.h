// The chunk sizes and left contexts that verify_streaming tries.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_VERIFICATION_SETTING_H_
#define RUNNEL_TOOLS_VERIFICATION_SETTING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/model_config.h"

namespace runnel {

// Both in encoder frames; chunk_size -1: the whole utterance; left_context -1: unlimited.
struct StreamingSetting {
  int64_t chunk_size;
  int64_t left_context;

  // E.g. "C=4 M=13", "C=full M=all".
  std::string Name() const;
};

// C in {1, 2, 3, 4, 8, 16, full}, M in {0, 1, C, 3 C + 1, unlimited}, as far as the model's limits
// allow, and what the model recommends; each once, ordered by C.
std::vector<StreamingSetting> SettingGrid(const StreamingConfig& config);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_SETTING_H_
