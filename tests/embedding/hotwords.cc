// A stream with its own hotwords, for example the names in a caller's address book.
#include <runtime/hotwords.h>
#include <runtime/recognizer.h>

#include <memory>
#include <string>

std::shared_ptr<runnel::LiveStream> OpenWithHotwords(runnel::Recognizer* recognizer,
                                                     const std::string& phrases) {
  runnel::StreamOptions options;
  options.search.method = runnel::SearchMethod::kPrefixBeam;
  options.search.hotwords = std::make_shared<const runnel::Hotwords>(
      phrases, recognizer->model()->tokens(), runnel::Hotwords::kDefaultScore, "address book");
  return recognizer->Open(options);
}
