// A TorchScript archive without its code. Internal to the encoder's readers of model files.
//
// Attributes and tensors are all that a foreign model is read for. Without methods nothing of it is
// compiled: an export of a newer PyTorch, whose code this LibTorch does not know, loads too.
#ifndef RUNNEL_ENCODER_STRIPPED_ARCHIVE_H_
#define RUNNEL_ENCODER_STRIPPED_ARCHIVE_H_

#include <string>
#include <vector>

namespace runnel {

// Names of the entries of the zip archive at `path`. Throws std::runtime_error.
std::vector<std::string> ZipEntryNames(const std::string& path);

// The archive at `path`, which CheckZip has accepted, as bytes that torch::jit::load reads: classes
// keep their attributes and lose their methods. Throws std::runtime_error.
std::string StrippedArchive(const std::string& path);

// TorchScript source text without its function definitions.
std::string WithoutMethods(const std::string& code);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_STRIPPED_ARCHIVE_H_
