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

// An archive of Runnel's own, or WeNet's TorchScript export (final.zip), which holds no units:
// `units_file` names its units.txt, and must be empty for the former. Throws std::runtime_error,
// one line: the file, what was wrong with it, what was expected.
ModelArchive ReadModelArchive(const std::string& path, const std::string& units_file = "");

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_ARCHIVE_H_
