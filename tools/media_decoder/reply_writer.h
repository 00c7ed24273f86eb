// Writes the replies of media_decoder to its socket.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_REPLY_WRITER_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_REPLY_WRITER_H_

#include <cstddef>
#include <string>

#include "frontend/media/media_protocol.h"

namespace runnel::media_decoder {

// Ends the process when nobody reads the replies any more.
class ReplyWriter {
 public:
  explicit ReplyWriter(int socket) : socket_(socket) {}

  void WriteFormat(const MediaFormatReply& format);
  void WriteSamples(const float* samples, size_t count);
  void WriteHungry();
  void WriteEnd(const MediaEndReply& end);
  void WriteError(const std::string& text);
  // The reader refuses more than kMaxMediaWarnings.
  void WriteWarning(const std::string& text);

 private:
  void WriteText(MediaReply type, const std::string& text);
  void Write(MediaReply type, const void* body, size_t size);
  void WriteBytes(const void* bytes, size_t size);

  const int socket_;
};

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_REPLY_WRITER_H_
