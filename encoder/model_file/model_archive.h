// Reads a model file: the tensors of the TorchScript archive by name, and its two text files.
#ifndef RUNNEL_ENCODER_MODEL_FILE_MODEL_ARCHIVE_H_
#define RUNNEL_ENCODER_MODEL_FILE_MODEL_ARCHIVE_H_

#include <map>
#include <string>

#include "encoder/model_file/tensor.h"

namespace runnel {

// The contents of a model file; nothing is interpreted yet.
struct ModelArchive {
  std::string path;
  std::string config_json;                // runnel.json
  std::string units_text;                 // units.txt
  std::string units_name;                 // of its file, for messages
  std::map<std::string, Tensor> tensors;  // parameters and buffers by qualified name
  std::string note;                       // of the weights, for a log; usually empty
};

// Reads an archive in Runnel's format, or WeNet's TorchScript export (final.zip). The export holds
// no vocabulary: `units_file` is the path of its units.txt. For Runnel's format `units_file` must
// be empty. Throws std::runtime_error, one line: the file, what is wrong, what was expected.
ModelArchive ReadModelArchive(const std::string& path, const std::string& units_file = "");

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_MODEL_ARCHIVE_H_
