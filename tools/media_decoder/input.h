// Where media_decoder reads a recording.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_INPUT_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_INPUT_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/media_decoder/reply_writer.h"

namespace runnel::media_decoder {

class Input {
 public:
  Input() = default;
  virtual ~Input() = default;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // Reads 1 to `size` bytes, 0 at the end, below 0 when reading fails.
  virtual ssize_t Read(uint8_t* bytes, size_t size) = 0;
  // The number of bytes; below 0 when it cannot seek.
  virtual int64_t size() const { return -1; }
  // `position`: of the next byte that Read brings.
  virtual void Seek(int64_t /*position*/) {}
  // Of the next byte.
  virtual int64_t position() const = 0;
};

// A file that can seek, from the position on at which it stands.
class FileInput : public Input {
 public:
  explicit FileInput(int file);
  // Ends before the tags at the end of the file.
  void LeaveOutTags();
  ssize_t Read(uint8_t* bytes, size_t size) override;
  int64_t size() const override { return size_; }
  void Seek(int64_t position) override { position_ = position; }
  int64_t position() const override { return position_; }

 private:
  const int file_;
  const off_t begin_;
  int64_t size_;
  int64_t position_ = 0;
};

// The bytes of requests. It asks for the next request when those of the last one are read.
class RequestInput : public Input {
 public:
  RequestInput(int socket, ReplyWriter* replies) : socket_(socket), replies_(*replies) {}
  ssize_t Read(uint8_t* bytes, size_t size) override;
  int64_t position() const override { return position_; }

 private:
  // Ends the process when the other end has gone.
  void Receive(void* bytes, size_t size);

  const int socket_;
  ReplyWriter& replies_;
  std::string request_;
  size_t num_read_ = 0;  // bytes of it
  int64_t position_ = 0;
  bool has_ended_ = false;
};

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_INPUT_H_
