// What a media_decoder sends that has gone wrong: the input stands for the bytes on its socket.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "frontend/media/media_replies.h"
#include "tests/fuzz/require.h"

namespace runnel {
namespace {

void ReadReplies(MediaSource source, const uint8_t* data, size_t size) {
  int ends[2] = {-1, -1};
  fuzz::Require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "sockets");
  MediaReplies replies(FileDescriptor{ends[0]}, source, std::chrono::hours(1));
  {
    const FileDescriptor decoder(ends[1]);
    const ssize_t sent = ::send(decoder.get(), data, size, MSG_NOSIGNAL);
    fuzz::Require(sent == static_cast<ssize_t>(size), "all bytes are sent");
  }
  size_t num_samples = 0;
  try {
    replies.ReadFormat();
    std::vector<float> samples(1000);
    while (!replies.has_ended()) {
      const size_t count = replies.Read(samples.data(), samples.size());
      fuzz::Require(count <= samples.size(), "no more samples than asked for");
      fuzz::Require(count == 0 || replies.format().rate_hz > 0, "samples have a rate");
      num_samples += count;
      fuzz::Require(!replies.is_hungry() || source == MediaSource::kStream, "a file is complete");
      if (replies.is_hungry()) replies.OnRequest();
    }
  } catch (const std::runtime_error& error) {
    fuzz::Require(error.what()[0] != '\0' || size >= 8, "an error says what is wrong");
  }
  fuzz::Require(num_samples * sizeof(float) <= size, "samples are bytes of the input");
}

}  // namespace
}  // namespace runnel

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostBytes = 100000;  // of a socket that nobody reads
  if (size > kMostBytes) return 0;
  runnel::ReadReplies(runnel::MediaSource::kFile, data, size);
  runnel::ReadReplies(runnel::MediaSource::kStream, data, size);
  return 0;
}
