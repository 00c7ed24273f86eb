// Reads the encoder of WeNet's TorchScript export. The names come from wenet/transformer/ and
// wenet/ctl_model/.
#ifndef RUNNEL_ENCODER_MODEL_FILE_WENET_ENCODER_H_
#define RUNNEL_ENCODER_MODEL_FILE_WENET_ENCODER_H_

#include <nlohmann/json.hpp>
#include <string>

#include "encoder/model_file/wenet_modules.h"

namespace runnel::wenet {

// The name in Runnel's format of a tensor "encoder.*", empty for one that the model does not use.
std::string EncoderName(const std::string& name);

// The `encoder` section. Changes or removes tensors that Runnel's format has in another form.
nlohmann::json ReadEncoder(const Module& encoder, Tensors* tensors);

}  // namespace runnel::wenet

#endif  // RUNNEL_ENCODER_MODEL_FILE_WENET_ENCODER_H_
