// The tiny model of tests/golden/encoder, its recorded values, and archives made of parts.
#ifndef RUNNEL_TESTS_SUPPORT_ARCHIVE_FILES_H_
#define RUNNEL_TESTS_SUPPORT_ARCHIVE_FILES_H_

#include <map>
#include <string>

#include "encoder/model_file/tensor.h"

namespace runnel::testing {

// Path of the tiny model (tests/golden/encoder/README.md).
inline std::string TinyModelPath() { return RUNNEL_SOURCE_DIR "/tests/golden/encoder/tiny.pt"; }

// The tensors in a file of recorded values by name. `file`: path below tests/golden.
std::map<std::string, Tensor> Goldens(const std::string& file);

// Those of the tiny model, float64.
inline std::map<std::string, Tensor> TinyGoldens() { return Goldens("encoder/tiny_goldens.pt"); }

// Writes a TorchScript archive without code that holds `tensors` under their dotted names and
// `extra_files` by name, whatever they are. LibTorch reads it too.
void WriteArchive(const std::string& path, const std::map<std::string, Tensor>& tensors,
                  const std::map<std::string, std::string>& extra_files);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_ARCHIVE_FILES_H_
