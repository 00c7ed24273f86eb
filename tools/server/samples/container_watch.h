// Refuses a file where samples are expected.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_CONTAINER_WATCH_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_CONTAINER_WATCH_H_

#include <string>
#include <string_view>

namespace runnel::server {

// Many clients send a file, such as a recording of a browser, to a stream of samples. Its bytes
// would be recognised as noise. The watch holds nothing back: samples go on while the first bytes
// may still be those of a file.
class ContainerWatch {
 public:
  // `encoding`: what is expected, for the message.
  explicit ContainerWatch(std::string encoding) : encoding_(std::move(encoding)) {}

  // Looks at the next bytes of the audio. Throws ClientMistake with kBadMessage when those so far
  // begin a file; for WAV, the message has its rate.
  void Look(std::string_view bytes);

 private:
  [[noreturn]] void Refuse(const char* container) const;

  const std::string encoding_;
  std::string begin_;  // the bytes so far, until they tell
  bool is_decided_ = false;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_CONTAINER_WATCH_H_
