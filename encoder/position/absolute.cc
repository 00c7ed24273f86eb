// Sinusoids of the absolute frame added to the input of layer 0 (Vaswani et al. 2017, section 3.5);
// dot-product attention alone. The 64-bit frame number goes on from chunk to chunk.
#include <memory>

#include "encoder/position/position_scheme.h"
#include "encoder/position/sinusoids.h"

namespace runnel {
namespace {

PositionModules BuildAbsolute(Weights* /*weights*/, const std::vector<std::string>& attention_names,
                              const AttentionSizes& sizes) {
  PositionModules modules;
  modules.layers.resize(attention_names.size(), std::make_shared<const ContentOnly>(sizes));
  modules.input = [sinusoids = Sinusoids(sizes.model_dim)](int64_t first_frame,
                                                           int64_t num_frames) {
    return sinusoids.Rows(first_frame, first_frame + num_frames - 1);
  };
  return modules;
}

}  // namespace

PositionConfig ParseAbsolutePosition(JsonSection* /*section*/) {
  PositionConfig config;
  config.build = &BuildAbsolute;
  return config;
}

}  // namespace runnel
