// Reads the layers of the Branchformers and E-Branchformers in WeNet's TorchScript exports. The
// names come from wenet/branchformer/ and wenet/e_branchformer/; models/convert/branchformers.py
// has the same rules for checkpoints.
#ifndef RUNNEL_ENCODER_MODEL_FILE_WENET_BRANCHFORMER_H_
#define RUNNEL_ENCODER_MODEL_FILE_WENET_BRANCHFORMER_H_

#include <nlohmann/json.hpp>
#include <string>

#include "encoder/model_file/wenet_modules.h"

namespace runnel::wenet {

// The name in Runnel's format of a tensor of a layer, after "encoder.encoders.N." in both; empty
// for one that the model does not use.
std::string BranchformerName(const std::string& name);

// The `branches` object of the encoder, by one of its layers.
nlohmann::json ReadBranches(const Module& layer);

// Refuses layers that merge their branches in another way than Runnel.
void CheckMerging(const Tensors& tensors);

}  // namespace runnel::wenet

#endif  // RUNNEL_ENCODER_MODEL_FILE_WENET_BRANCHFORMER_H_
