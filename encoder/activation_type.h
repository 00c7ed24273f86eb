// The activation functions of feed-forward and convolution modules, by name.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_ACTIVATION_TYPE_H_
#define RUNNEL_ENCODER_ACTIVATION_TYPE_H_

namespace runnel {

// kGelu is the exact one, by the error function.
enum class Activation { kSwish, kRelu, kGelu };

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ACTIVATION_TYPE_H_
