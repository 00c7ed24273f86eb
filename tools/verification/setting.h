// The chunk sizes and left contexts that verify_streaming tries.
#ifndef RUNNEL_TOOLS_VERIFICATION_SETTING_H_
#define RUNNEL_TOOLS_VERIFICATION_SETTING_H_

#include <vector>

#include "runtime/model/model_config.h"

namespace runnel {

// Chunk sizes C of 1, 2, 3, 4, 8, 16 and the whole utterance, left contexts M of 0, 1, C, 3 C + 1
// and unlimited, within the limits of the model; also the setting that the model recommends and
// those it was trained for. Each setting occurs once; they are ordered by C.
std::vector<StreamingSetting> SettingGrid(const ModelConfig& config);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_SETTING_H_
