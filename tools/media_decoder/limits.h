// What the process may use while it reads bytes of strangers.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_LIMITS_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_LIMITS_H_

namespace runnel::media_decoder {

// Sets the limits of the process, and has it end when the other end of `socket` is closed. False
// when the system refuses a limit.
bool LimitProcess(int socket);

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_LIMITS_H_
