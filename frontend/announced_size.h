// The size of the samples of a recording as its header announces it. Private to AudioReader.
#ifndef RUNNEL_FRONTEND_ANNOUNCED_SIZE_H_
#define RUNNEL_FRONTEND_ANNOUNCED_SIZE_H_

#include <sys/types.h>

#include <optional>

#include "frontend/media/container.h"
#include "frontend/wav_stream.h"

namespace runnel {

// Of the file `fd`, in which a recording begins at `begin`. No value if the header leaves the size
// open, and for a container other than WAV, AIFF, AU, W64, VOC and NIST SPHERE. Does not move the
// position of `fd`.
std::optional<DataSize> ReadDataSize(const Container& container, int fd, off_t begin);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_ANNOUNCED_SIZE_H_
