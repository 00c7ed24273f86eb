// What the readers of a WeNet export share: its modules and tensors by name.
#ifndef RUNNEL_ENCODER_MODEL_FILE_WENET_MODULES_H_
#define RUNNEL_ENCODER_MODEL_FILE_WENET_MODULES_H_

#include <cstdint>
#include <map>
#include <string>

#include "encoder/model_file/script_archive.h"
#include "encoder/model_file/tensor.h"

namespace runnel::wenet {

using Module = ScriptModule;
using Tensors = std::map<std::string, Tensor>;  // under Runnel's names

// All functions below throw what this one throws: "is a WeNet export " and what is wrong with it.
[[noreturn]] void Refuse(const std::string& what);

std::string ClassName(const Module& module);
bool HasModule(const Module& module, const std::string& name);
Module Child(const Module& module, const std::string& name);
// Of a layer norm or a batch norm.
double Epsilon(const Module& norm);
// "swish"
std::string ActivationName(const Module& activation);
// Size `dim` of a tensor that must have `num_dims` dimensions.
int64_t Size(const Tensors& tensors, const std::string& name, int64_t num_dims, int64_t dim);
// Of two tensors of the same shape.
Tensor Sum(const Tensor& a, const Tensor& b);

}  // namespace runnel::wenet

#endif  // RUNNEL_ENCODER_MODEL_FILE_WENET_MODULES_H_
