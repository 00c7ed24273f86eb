// Choices among the chunk sizes and left contexts that a model permits.
#ifndef RUNNEL_TOOLS_VERIFICATION_SETTING_H_
#define RUNNEL_TOOLS_VERIFICATION_SETTING_H_

#include <vector>

#include "runtime/model/model_config.h"

namespace runnel {

// What verify_streaming tries. Chunk sizes C of 1, 2, 3, 4, 8, 16 and the whole utterance, left
// contexts M of 0, 1, C, 3 C + 1 and unlimited, the numbers in units of the model's ChunkMultiple,
// within the limits of the model; also the setting that the model recommends and those it was
// trained for. Each setting occurs once; they are ordered by C.
std::vector<StreamingSetting> SettingGrid(const ModelConfig& config);

// The permitted setting in which an encoder frame reads most of the recording: the whole utterance
// where the model permits it, otherwise the largest chunk, then the largest left context.
StreamingSetting WidestSetting(const StreamingConfig& limits);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_SETTING_H_
