// Reads the predictor and the joint network of WeNet's TorchScript export. The names come from
// wenet/transducer/; models/convert/wenet_transducer.py has the same rules for checkpoints.
#ifndef RUNNEL_ENCODER_MODEL_FILE_WENET_TRANSDUCER_H_
#define RUNNEL_ENCODER_MODEL_FILE_WENET_TRANSDUCER_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "encoder/model_file/wenet_modules.h"

namespace runnel::wenet {

// Whether a tensor of the export belongs to the transducer, by its name.
bool IsOfTransducer(const std::string& name);

// The name of such a tensor in Runnel's format, empty for one that the model does not use.
std::string TransducerName(const std::string& name);

// The `transducer` section of a model of class Transducer. Gives `tensors` the shapes of Runnel's
// format.
nlohmann::json ReadTransducer(const Module& model, int64_t blank_id, Tensors* tensors);

}  // namespace runnel::wenet

#endif  // RUNNEL_ENCODER_MODEL_FILE_WENET_TRANSDUCER_H_
