// When the tokens of a hypothesis are spoken.
#ifndef RUNNEL_RUNTIME_STREAM_TOKEN_TIMES_H_
#define RUNNEL_RUNTIME_STREAM_TOKEN_TIMES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/model.h"
#include "runtime/result.h"
#include "runtime/search/search.h"
#include "runtime/search_options.h"

namespace runnel {

// Milliseconds of audio since the start of the stream.
struct SpokenMs {
  double begin = 0;
  double end = 0;
};

// A token lasts at least so long, where there is room before it.
constexpr double kLeastTokenMs = 10;

// How long a token goes on after the last frame that emits it; none: it has no duration, and begins
// and ends where the token before it ends, unless it is the first one.
using TokenTail = std::function<std::optional<double>(int32_t id)>;

// The times of the tokens, none of which overlap, in frames of `frame_ms`. A token begins with the
// frame that first emits it. It ends after its last frame and its tail, but at the latest where the
// next token begins, and where `within` ends. If that leaves less than kLeastTokenMs, it begins
// earlier. No token begins before `within`; one that ends before it has no duration.
std::vector<SpokenMs> TimesOf(const std::vector<TokenSpan>& tokens, SpokenMs within,
                              double frame_ms, const TokenTail& tail);

// The times of the tokens that a stream of a model finds. `within` is as for TimesOf: the times of
// an utterance, or of the present text. A duration of TDT may lead further, and after
// FinalizeUtterance a token may begin before them.
class TokenTimes {
 public:
  // `head`: of the stream, not kDefault. The model must outlive this.
  TokenTimes(const Model& model, Head head);

  // Special tokens, and punctuation of a model with durations, which is emitted late: after the
  // pause that it found (NeMo's _refine_timestamps_tdt).
  bool TakesNoTime(int32_t id) const;

  std::vector<Token> InMilliseconds(const std::vector<TokenSpan>& spans, SpokenMs within) const;

  // From the start of the first to the end of the last token that is text; none without such
  // tokens.
  std::optional<SpokenMs> SpeechOf(const std::vector<TokenSpan>& spans, SpokenMs within) const;

 private:
  std::optional<double> TailMs(int32_t id) const;
  std::vector<SpokenMs> Times(const std::vector<TokenSpan>& spans, SpokenMs within) const;

  const Model* model_;
  bool has_durations_;
};

// The end of the audio of the encoder frames before `end_frame`: of the frames, or of the samples
// that the last one reads, which of a causal subsampling are fewer. Samples that pad the audio
// count. Of samples it is whole milliseconds, so that no time that is rounded lies behind them.
double EndOfFramesMs(const Model& model, int64_t end_frame);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_TOKEN_TIMES_H_
