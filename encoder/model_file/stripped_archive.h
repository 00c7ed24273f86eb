// A TorchScript archive without its code.
//
// Only attributes and tensors of a foreign model are read. Without methods LibTorch compiles
// nothing: an export of a newer PyTorch, whose operators this LibTorch does not know, loads too.
#ifndef RUNNEL_ENCODER_MODEL_FILE_STRIPPED_ARCHIVE_H_
#define RUNNEL_ENCODER_MODEL_FILE_STRIPPED_ARCHIVE_H_

#include <string>

#include "encoder/model_file/zip_file.h"

namespace runnel {

// The archive as bytes that torch::jit::load reads: classes keep their attributes and lose their
// methods. `original` has passed CheckEntries. Throws std::runtime_error.
std::string StrippedArchive(const ZipFile& original);

// TorchScript source text without its function definitions.
std::string WithoutMethods(const std::string& code);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_STRIPPED_ARCHIVE_H_
