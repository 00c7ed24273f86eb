// The reference: all code that computes with LibTorch (encoder/libtorch, tools/reference), in a
// shared library that a program loads when it is asked for it.
//
// The library holds copies of its own of the code that it uses. Program and library are of one
// version, which is part of the library's name, and of one compiler. Between them may go
//   - values without a part in static state: configurations, Tensor, Weights, rows, LayerState,
//     standard containers and functions;
//   - objects whose functions are all virtual: an EncoderBackend and its modules;
//   - exceptions.
// A Model does not: the searches and kernels behind it have static state (the threads of a step,
// scratch memory). The library loads models of its own.
#ifndef RUNNEL_RUNTIME_MODEL_REFERENCE_COMPONENT_H_
#define RUNNEL_RUNTIME_MODEL_REFERENCE_COMPONENT_H_

#include <memory>
#include <string>

#include "encoder/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/model_file/weights.h"

namespace runnel {

// The LibTorch backend, in the data type of the weights. Takes the tensors of the position scheme.
// Throws as ReferenceFunction and Weights do.
std::unique_ptr<const EncoderBackend> MakeReferenceBackend(const EncoderConfig& config,
                                                           Weights* weights);

// A function of the library, which is loaded in the first call and stays loaded. `user`: who needs
// it, for the message. Throws std::runtime_error, one line that says how to install the library,
// where it cannot be loaded. May be called from any thread.
void* ReferenceFunction(const char* name, const std::string& user);

// The same as a function of the type that its declaration has.
template <class Function>
Function* ReferenceFunction(const char* name, const std::string& user) {
  return reinterpret_cast<Function*>(ReferenceFunction(name, user));
}

// Whether the library was loaded before.
bool IsReferenceLoaded();

}  // namespace runnel

// Of the library. The result belongs to the caller.
extern "C" const runnel::EncoderBackend* runnel_reference_backend(
    const runnel::EncoderConfig& config, runnel::Weights* weights);

#endif  // RUNNEL_RUNTIME_MODEL_REFERENCE_COMPONENT_H_
