// Reads WeNet's TorchScript export (final.zip) as a model archive of Runnel's own format.
// Internal to the encoder's reader of model files. Source of what it knows: WeNet v1 to v3,
// wenet/bin/export_jit.py and wenet/transformer/.
#ifndef RUNNEL_ENCODER_WENET_EXPORT_H_
#define RUNNEL_ENCODER_WENET_EXPORT_H_

#include <string>
#include <vector>

#include "encoder/model_archive.h"

namespace runnel {

// Whether the entries of a zip archive are those of a scripted WeNet ASRModel.
bool IsWenetExport(const std::vector<std::string>& entry_names);

// The architecture is told from the module's classes, attributes and shapes; what the export does
// not hold is WeNet's default: 80 bins of Kaldi's fbank at 16 kHz, chunks of 16. The attention
// decoder's tensors are kept under "attention_decoder.". units_text: WeNet's units.txt. Throws
// std::runtime_error saying what is not supported; the caller adds the path.
ModelArchive ReadWenetExport(const std::string& path, const std::string& units_text);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_WENET_EXPORT_H_
