// The builder of every position scheme, each defined in the scheme's own file: it takes the tensors
// of all layers and states the terms of their scores.
#ifndef RUNNEL_ENCODER_POSITION_SCHEMES_H_
#define RUNNEL_ENCODER_POSITION_SCHEMES_H_

#include <string>
#include <vector>

#include "encoder/position/position_scheme.h"

namespace runnel {

using AttentionNames = std::vector<std::string>;

// none.cc
PositionModules BuildScheme(const NoPosition& config, Weights* weights, const AttentionNames& names,
                            const AttentionSizes& sizes);
// absolute.cc
PositionModules BuildScheme(const AbsolutePosition& config, Weights* weights,
                            const AttentionNames& names, const AttentionSizes& sizes);
// chunk_rpe.cc
PositionModules BuildScheme(const ChunkRpe& config, Weights* weights, const AttentionNames& names,
                            const AttentionSizes& sizes);
// relative_key_value.cc
PositionModules BuildScheme(const RelativeKeyValue& config, Weights* weights,
                            const AttentionNames& names, const AttentionSizes& sizes);
// unshifted.cc
PositionModules BuildScheme(const UnshiftedPosition& config, Weights* weights,
                            const AttentionNames& names, const AttentionSizes& sizes);
// grouped_unshifted.cc
PositionModules BuildScheme(const GroupedUnshifted& config, Weights* weights,
                            const AttentionNames& names, const AttentionSizes& sizes);
// legacy_rel_pos.cc
PositionModules BuildScheme(const LegacyRelPos& config, Weights* weights,
                            const AttentionNames& names, const AttentionSizes& sizes);
// rotary.cc
PositionModules BuildScheme(const RotaryPosition& config, Weights* weights,
                            const AttentionNames& names, const AttentionSizes& sizes);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_SCHEMES_H_
