// A stream with tentative text every 160 ms, although its chunks have 640 ms.
#include <runtime/recognizer.h>

#include <memory>

std::shared_ptr<runnel::LiveStream> OpenWithEarlyText(runnel::Recognizer* recognizer) {
  runnel::StreamOptions options;
  options.chunk_size = 16;          // encoder frames of 40 ms
  options.early_text.interval = 4;  // likewise
  return recognizer->Open(options);
}
