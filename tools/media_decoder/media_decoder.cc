// Decodes one recording for another program of this project, which starts it: see
// frontend/media/media_protocol.h.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "tools/media_decoder/limits.h"
#include "tools/media_decoder/recording_decoder.h"

extern "C" {
#include <libavutil/log.h>
}

int main(int argc, char** argv) {
  using namespace runnel;
  using namespace runnel::media_decoder;
  if (argc != 6) return EXIT_FAILURE;
  av_log_set_level(AV_LOG_QUIET);
  ReplyWriter replies(kMediaSocket);
  try {
    if (!LimitProcess(kMediaSocket)) {
      replies.WriteError("cannot be decoded (the system refuses media_decoder its limits)");
      return EXIT_FAILURE;
    }
    std::unique_ptr<Input> input;
    if (std::strcmp(argv[1], kMediaOfFile) == 0) {
      auto file = std::make_unique<FileInput>(kMediaFile);
      const std::string container = argv[2];
      if (container == "mp3" || container == "aac") file->LeaveOutTags();
      input = std::move(file);
    } else {
      input = std::make_unique<RequestInput>(kMediaSocket, &replies);
    }
    const MediaChoice choice = {std::atoi(argv[3]), std::atoi(argv[4]),
                                std::strcmp(argv[5], kMediaStrict) == 0};
    RecordingDecoder(input.get(), argv[2], choice, &replies).Decode();
  } catch (const std::bad_alloc&) {
    replies.WriteError("needs more memory than media_decoder may have (" +
                       std::to_string(kMaxMemoryMib) + " MiB)");
  } catch (const std::exception& error) {
    replies.WriteError(error.what());
  }
  // The process ends at once: there is nothing to be cleaned up.
  std::_Exit(EXIT_SUCCESS);
}
