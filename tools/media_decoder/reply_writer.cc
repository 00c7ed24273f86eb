#include "tools/media_decoder/reply_writer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace runnel::media_decoder {

void ReplyWriter::WriteBytes(const void* bytes, size_t size) {
  const auto* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t count = ::send(socket_, from, size, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(EXIT_FAILURE);
    from += count;
    size -= static_cast<size_t>(count);
  }
}

void ReplyWriter::Write(MediaReply type, const void* body, size_t size) {
  const MediaReplyHeader header = {type, static_cast<uint32_t>(size)};
  WriteBytes(&header, sizeof(header));
  WriteBytes(body, size);
}

void ReplyWriter::WriteFormat(const MediaFormatReply& format) {
  Write(MediaReply::kFormat, &format, sizeof(format));
}

void ReplyWriter::WriteSamples(const float* samples, size_t count) {
  constexpr size_t kMost = kMaxMediaReplyBytes / sizeof(float);
  for (size_t done = 0; done < count;) {
    const size_t size = std::min(kMost, count - done);
    Write(MediaReply::kSamples, samples + done, size * sizeof(float));
    done += size;
  }
}

void ReplyWriter::WriteHungry() { Write(MediaReply::kHungry, nullptr, 0); }

void ReplyWriter::WriteEnd(const MediaEndReply& end) { Write(MediaReply::kEnd, &end, sizeof(end)); }

void ReplyWriter::WriteText(MediaReply type, const std::string& text) {
  Write(type, text.data(), std::min(text.size(), kMaxMediaReplyBytes));
}

void ReplyWriter::WriteError(const std::string& text) { WriteText(MediaReply::kError, text); }

void ReplyWriter::WriteWarning(const std::string& text) { WriteText(MediaReply::kWarning, text); }

}  // namespace runnel::media_decoder
