// No positions: attention sees the order of frames through the convolutions only.
#include "encoder/position/schemes.h"

namespace runnel {

PositionModules BuildScheme(const NoPosition& /*config*/, Weights* /*weights*/,
                            const AttentionNames& names, const AttentionSizes& sizes) {
  PositionModules modules;
  modules.layers.resize(names.size(), ContentOnly(sizes));
  return modules;
}

}  // namespace runnel
