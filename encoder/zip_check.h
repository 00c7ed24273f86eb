// Whether a zip file is whole: its directory, the place of every entry, sizes and checksums.
// Internal to the encoder's reader of model archives, because LibTorch looks at none of these: a
// damaged file would load with wrong weights, or ask for any amount of memory.
#ifndef RUNNEL_ENCODER_ZIP_CHECK_H_
#define RUNNEL_ENCODER_ZIP_CHECK_H_

#include <string>

namespace runnel {

// Reads the whole file once, through libzip. Throws std::runtime_error saying what is wrong with
// the zip archive at `path`.
void CheckZip(const std::string& path);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ZIP_CHECK_H_
