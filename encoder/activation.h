// Names of the activation functions of all modules.
#ifndef RUNNEL_ENCODER_ACTIVATION_H_
#define RUNNEL_ENCODER_ACTIVATION_H_

namespace runnel {

// kGelu is exact: computed with the error function. kDoubleSwish: x sigmoid(x - 1) (icefall).
enum class Activation { kSwish, kRelu, kGelu, kTanh, kSigmoid, kDoubleSwish, kIdentity };

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ACTIVATION_H_
