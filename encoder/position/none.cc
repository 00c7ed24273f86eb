// No positions: dot-product attention alone (order is heard through the convolutions only).
#include <memory>

#include "encoder/position/position_scheme.h"

namespace runnel {

PositionConfig ParseNoPosition(JsonSection* /*section*/) {
  PositionConfig config;
  config.build = ForEachLayer([](Weights*, const std::string&, const AttentionSizes& sizes) {
    return std::make_shared<const ContentOnly>(sizes);
  });
  return config;
}

}  // namespace runnel
