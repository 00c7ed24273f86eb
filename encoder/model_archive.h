// Reads a model file: the TorchScript archive's tensors by name, and its two text files.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_MODEL_ARCHIVE_H_
#define RUNNEL_ENCODER_MODEL_ARCHIVE_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace runnel {

// The contents of an archive, nothing interpreted yet.
struct ModelArchive {
  std::string path;
  std::string config_json;                    // runnel.json
  std::string units_text;                     // units.txt
  std::map<std::string, at::Tensor> tensors;  // parameters and buffers by qualified name
};

// Throws std::runtime_error, one line: the file, what was wrong with it, what was expected.
ModelArchive ReadModelArchive(const std::string& path);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_ARCHIVE_H_
