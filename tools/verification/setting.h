// The chunk sizes and left contexts that verify_streaming tries.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_VERIFICATION_SETTING_H_
#define RUNNEL_TOOLS_VERIFICATION_SETTING_H_

#include <vector>

#include "runtime/model_config.h"

namespace runnel {

// C in {1, 2, 3, 4, 8, 16, full}, M in {0, 1, C, 3 C + 1, unlimited}, as far as the model's limits
// allow, what the model recommends and the settings it was trained for; each once, ordered by C.
std::vector<StreamingSetting> SettingGrid(const ModelConfig& config);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_SETTING_H_
