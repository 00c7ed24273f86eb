// The builder of every position scheme, each defined in the scheme's own file: it takes the tensors
// of all layers and states the terms of their scores.
#ifndef RUNNEL_ENCODER_POSITION_SCHEMES_H_
#define RUNNEL_ENCODER_POSITION_SCHEMES_H_

#include <string>
#include <vector>

#include "encoder/position/position_scheme.h"

namespace runnel {

struct SchemeSource {
  Weights* weights;
  const std::vector<std::string>& names;  // of the layers' attention
  const AttentionSizes& sizes;
  const PositionPacker& pack;  // of projected positions by distance; null: they are not packed
};

// none.cc
PositionModules BuildScheme(const NoPosition& config, const SchemeSource& source);
// absolute.cc
PositionModules BuildScheme(const AbsolutePosition& config, const SchemeSource& source);
// chunk_rpe.cc
PositionModules BuildScheme(const ChunkRpe& config, const SchemeSource& source);
// relative_key_value.cc
PositionModules BuildScheme(const RelativeKeyValue& config, const SchemeSource& source);
// unshifted.cc
PositionModules BuildScheme(const UnshiftedPosition& config, const SchemeSource& source);
// grouped_unshifted.cc
PositionModules BuildScheme(const GroupedUnshifted& config, const SchemeSource& source);
// legacy_rel_pos.cc
PositionModules BuildScheme(const LegacyRelPos& config, const SchemeSource& source);
// rotary.cc
PositionModules BuildScheme(const RotaryPosition& config, const SchemeSource& source);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_SCHEMES_H_
