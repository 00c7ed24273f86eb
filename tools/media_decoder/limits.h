// What the process may use while it reads bytes of strangers.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_LIMITS_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_LIMITS_H_

namespace runnel::media_decoder {

// FFmpeg's tables and libraries take some 30 MiB, with eight channels of 192 kHz 48 MiB. The index
// of an hour of fragmented MP4 takes 6 MiB, that of other MP4 less.
constexpr int kMaxMemoryMib = 128;

// Sets the limits of the process, and has it end when the other end of `socket` is closed. False
// when the system refuses a limit.
bool LimitProcess(int socket);

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_LIMITS_H_
