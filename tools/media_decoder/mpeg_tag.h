// Tags in files of MPEG audio, MP3 and AAC.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_MPEG_TAG_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_MPEG_TAG_H_

#include <cstdint>
#include <string_view>

namespace runnel::media_decoder {

// The size of the tag that `bytes` begin with, such as one between the pieces of a file that was
// joined; 0: there is none. Of a tag that is always the last: the size of `bytes`.
int64_t TagBytes(std::string_view bytes);

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_MPEG_TAG_H_
