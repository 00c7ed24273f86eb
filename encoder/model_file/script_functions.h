// The classes and functions that a pickle of torch.jit.save names.
#ifndef RUNNEL_ENCODER_MODEL_FILE_SCRIPT_FUNCTIONS_H_
#define RUNNEL_ENCODER_MODEL_FILE_SCRIPT_FUNCTIONS_H_

#include <vector>

#include "encoder/model_file/script_value.h"
#include "encoder/model_file/stored_tensors.h"

namespace runnel {

// Whether the name is that of a class in the archive's code.
bool IsOfTorchScript(const ScriptName& name);

// The storage of which `parts` are: the word "storage", class, key, device and number of values.
ScriptValue MakeStorage(const std::vector<ScriptValue>& parts, ScriptPickle* pickle);

// What the function returns for the arguments, a tuple. Throws for all but the few that build
// tensors and lists of one type. New values are in `pickle`.
ScriptValue CallFunction(const ScriptName& function, const ScriptValue& argument,
                         StoredTensors* tensors, ScriptPickle* pickle);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_SCRIPT_FUNCTIONS_H_
