// No positions: attention sees the order of frames through the convolutions only.
#include "encoder/position/schemes.h"

namespace runnel {

PositionModules BuildScheme(const NoPosition& /*config*/, const SchemeSource& source) {
  PositionModules modules;
  modules.layers.resize(source.names.size(), ContentOnly(source.sizes));
  return modules;
}

}  // namespace runnel
