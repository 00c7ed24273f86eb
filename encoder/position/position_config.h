// Which position scheme a model uses, as its file states it (`encoder.position`), and how to build
// it. Flow: packets -> frontend -> encoder (this) -> runtime -> tools. Knows nothing of LibTorch.
#ifndef RUNNEL_ENCODER_POSITION_POSITION_CONFIG_H_
#define RUNNEL_ENCODER_POSITION_POSITION_CONFIG_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace runnel {

class JsonSection;
class Weights;
struct PositionModules;  // position_scheme.h

struct AttentionSizes {
  int64_t model_dim;  // d
  int64_t num_heads;  // H, divides model_dim

  int64_t head_dim() const { return model_dim / num_heads; }  // d_k
};

struct PositionConfig {
  std::string scheme;  // its name in the model file
  // The scheme is defined for a whole utterance in one chunk only.
  bool needs_whole_utterance = false;

  // Takes the scheme's tensors for all layers at once, because layers may share some.
  // `attention_names`: the prefix of each layer's attention tensors
  // ("encoder.encoders.0.self_attn",
  // ...). Throws std::runtime_error as Weights does.
  using Builder = std::function<PositionModules(Weights* weights,
                                                const std::vector<std::string>& attention_names,
                                                const AttentionSizes& sizes)>;
  Builder build;
};

// Reads `scheme` and the fields that belong to it; nothing may be left over. Throws
// std::runtime_error naming the field, its value and what was expected.
PositionConfig ParsePosition(JsonSection* section);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_POSITION_CONFIG_H_
