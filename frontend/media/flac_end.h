// Finds the end of the last frame of a FLAC file.
#ifndef RUNNEL_FRONTEND_MEDIA_FLAC_END_H_
#define RUNNEL_FRONTEND_MEDIA_FLAC_END_H_

#include <sys/types.h>

namespace runnel {

// Whether anything but zeros and tags (TagsAtEnd) stands behind the last frame of a whole and
// undamaged FLAC file, which begins at `begin` of a file that can seek. False also where the header
// lacks the number of samples. Does not move the position.
bool HasBytesBehindFlac(int fd, off_t begin);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_FLAC_END_H_
