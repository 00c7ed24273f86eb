// The delays of the tokens of a stream: the difference to a forced alignment of the whole
// recording.
#ifndef RUNNEL_TOOLS_VERIFICATION_TOKEN_DELAYS_H_
#define RUNNEL_TOOLS_VERIFICATION_TOKEN_DELAYS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/stream.h"
#include "runtime/streaming_config.h"
#include "tools/verification/token_matching.h"

namespace runnel {

// The tokens of one stream, and how much audio it had accepted when each came into its best text
// to stay.
struct StreamedTokens {
  std::vector<TimedToken> tokens;    // start_ms: of the first encoder frame that emits the token
  std::vector<double> available_ms;  // one per token: duration of the accepted audio
  size_t num_retracted = 0;          // tokens that were in the text and were replaced
};

// Feeds a stream in packets of 10 ms, or less where fewer samples complete a chunk, so that
// available_ms is the least audio that gives the token. Tokens that only come after Stream::Finish
// have the duration of the recording. With options.early_text, the tokens of previews count
// (Stream::Preview). `samples`: mono, at the model's rate. Throws
// std::invalid_argument for options that are not allowed, for another search than greedy search and
// for samples that Stream::AcceptSamples refuses; std::runtime_error with Stream::failure.
StreamedTokens StreamTokens(const std::shared_ptr<const Model>& model, const StreamOptions& options,
                            const std::vector<float>& samples);

// The delays of one token, in milliseconds of audio. All are counted from the start of its first
// frame in the forced alignment.
struct TokenDelay {
  double emission_ms = 0;  // to the start of the first frame in which the stream emits it
  double text_ms = 0;      // to the end of the audio without which the text lacks it
};

// The delays of one recording.
struct RecordingDelays {
  size_t num_reference_tokens = 0;
  size_t num_retracted = 0;         // StreamedTokens::num_retracted
  std::vector<TokenDelay> tokens;   // of the matched tokens, in order
  std::optional<TokenDelay> first;  // of the first token of the reference, if it is matched
  std::optional<TokenDelay> last;   // likewise
};

// Measures recordings of one model with one setting. Const: several threads may share one.
class DelayMeasurement {
 public:
  // `options`: of the stream; greedy search. The alignment is always by the CTC head. Throws
  // std::invalid_argument as Stream does, std::runtime_error for a model without a CTC head.
  DelayMeasurement(std::shared_ptr<const Model> model, const StreamOptions& options);

  // The setting of the stream, with the defaults of the model resolved.
  StreamingSetting stream_setting() const;
  // The setting of the forced alignment: WidestSetting of the model.
  const StreamingSetting& alignment_setting() const { return alignment_setting_; }

  // Aligns the tokens of `reference_text` (ReferenceTokens) or, if it is empty, the tokens that
  // greedy search finds with alignment_setting(). Each is compared with the token of the stream
  // that MatchTokens pairs it with. Throws as StreamTokens and ReferenceTokens do, and
  // std::runtime_error when the recording has too few frames for the reference.
  RecordingDelays Measure(const std::vector<float>& samples,
                          const std::optional<std::string>& reference_text) const;

 private:
  std::vector<TimedToken> AlignReference(const std::vector<float>& samples,
                                         const std::optional<std::string>& reference_text) const;

  const std::shared_ptr<const Model> model_;
  const StreamOptions options_;  // resolved
  const StreamingSetting alignment_setting_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_TOKEN_DELAYS_H_
