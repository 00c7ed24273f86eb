// A stream that ends its utterances by itself.
#include <runtime/recognizer.h>

#include <functional>
#include <memory>

std::shared_ptr<runnel::LiveStream> OpenWithEndpoints(
    runnel::Recognizer* recognizer,
    const std::function<void(const runnel::Utterance&)>& on_utterance) {
  runnel::StreamOptions options;
  options.endpoints.enabled = true;
  options.endpoints.rules[1].min_silence_s = 0.8;  // an utterance ends 0.8 s after speech
  options.endpoints.skip_silence = true;           // silence between utterances costs no time
  return recognizer->Open(options,
                          [on_utterance](runnel::LiveStream&, const runnel::LiveUpdate& update) {
                            for (const runnel::Utterance& utterance : update.utterances)
                              on_utterance(utterance);
                          });
}
