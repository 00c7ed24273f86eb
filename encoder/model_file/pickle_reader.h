// Reads a pickle as torch.jit.save writes it.
#ifndef RUNNEL_ENCODER_MODEL_FILE_PICKLE_READER_H_
#define RUNNEL_ENCODER_MODEL_FILE_PICKLE_READER_H_

#include <string>

#include "encoder/model_file/script_value.h"
#include "encoder/model_file/stored_tensors.h"

namespace runnel {

// Reads what PyTorch's torch/csrc/jit/serialization/pickler.cpp writes, from PyTorch 1.4 on.
// Executes nothing: a class is a name, but for the few functions that build tensors and typed
// lists, which this reader knows. Throws std::runtime_error for everything else, for opcodes that
// such files have not, and for a damaged file. Takes time and memory in proportion to `bytes` and
// to the storages that it names.
ScriptPickle ReadPickle(std::string bytes, const ReadStorage& read_storage);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_PICKLE_READER_H_
