// Reads WeNet's TorchScript export (final.zip, or final_quant.zip of int8 weights) as a model
// archive in Runnel's format. The names come from WeNet v1 to v3: wenet/bin/export_jit.py and
// wenet/transformer/ and the folders beside it.
//
// models/convert/wenet.py imports experiment folders (train.yaml and a checkpoint) of the same
// models. The two share little: an export states its architecture by classes, attributes and
// shapes, a folder by options. tests/tools/decode/test_wenet_export.py checks that both ways of
// importing a model give the same bits.
#ifndef RUNNEL_ENCODER_MODEL_FILE_WENET_EXPORT_H_
#define RUNNEL_ENCODER_MODEL_FILE_WENET_EXPORT_H_

#include <string>
#include <vector>

#include "encoder/model_file/model_archive.h"
#include "encoder/model_file/script_archive.h"

namespace runnel {

// Whether the entries of a zip archive are those of a scripted WeNet model.
bool IsWenetExport(const std::vector<std::string>& entry_names);

// The result has no path. The export does not hold the features and the recommended chunks; these
// are WeNet's defaults: Kaldi's fbank at 16 kHz (80 bins unless the model tells otherwise) and
// chunks of 16 encoder frames. The attention decoder's tensors are kept under "attention_decoder."
// in a model without transducer.
// units_text: WeNet's units.txt. Throws std::runtime_error that says what is not supported, without
// the path.
ModelArchive ReadWenetExport(const ScriptArchive& script, const std::string& units_text);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_WENET_EXPORT_H_
