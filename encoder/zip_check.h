// Whether a zip file is whole: its directory, the place of every entry, and checksums.
// Internal to the encoder's reader of model archives, because LibTorch looks at none of these: a
// damaged file would load with wrong weights, or ask for any amount of memory.
#ifndef RUNNEL_ENCODER_ZIP_CHECK_H_
#define RUNNEL_ENCODER_ZIP_CHECK_H_

#include <istream>

namespace runnel {

// Throws std::runtime_error saying what is wrong with the zip archive in `file`, which must be
// seekable. Every entry must lie inside the file; stored ones, as LibTorch writes tensors and
// pickles, must match their checksum. Deflated ones (TorchScript code) are not unpacked here; only
// their size must be possible. Source: PKWARE's APPNOTE.TXT, sections 4.3 to 4.5.
void CheckZip(std::istream* file);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ZIP_CHECK_H_
