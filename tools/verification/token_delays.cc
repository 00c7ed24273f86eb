#include "tools/verification/token_delays.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "encoder/rows.h"
#include "runtime/model/model_parts.h"
#include "runtime/search/ctc_search.h"
#include "tools/verification/forced_alignment.h"
#include "tools/verification/setting.h"
#include "tools/verification/spelling.h"
#include "tools/verification/whole_utterance.h"

namespace runnel {
namespace {

constexpr int64_t kPacketsPerSecond = 100;

// Beam search revises its tokens, so their first appearance would not be their last.
void RequireGreedySearch(const StreamOptions& options) {
  if (options.search.method == SearchMethod::kGreedy) return;
  throw std::invalid_argument("delays of tokens are measured with greedy search only");
}

std::vector<int32_t> GreedyIds(const CtcOutput& output) {
  const std::unique_ptr<CtcSearch> search =
      MakeCtcSearch(SearchOptions(), output.vocab_size, output.blank_id);
  search->Advance(output.log_probs, output.num_frames);
  return search->BestIds();
}

// Replaces the tokens that were shown by those of the stream's best text, after `accepted_ms` of
// audio.
void Show(const Stream& stream, double accepted_ms, StreamedTokens* shown) {
  const std::vector<Token> tokens = stream.TokensSince(0);
  size_t num_equal = 0;
  while (num_equal < std::min(tokens.size(), shown->tokens.size()) &&
         tokens[num_equal].id == shown->tokens[num_equal].id) {
    ++num_equal;
  }
  shown->num_retracted += shown->tokens.size() - num_equal;
  shown->available_ms.resize(num_equal);
  shown->available_ms.resize(tokens.size(), accepted_ms);
  shown->tokens.clear();
  const double frame_ms = stream.model().encoder_frame_ms();
  for (const Token& token : tokens) {
    shown->tokens.push_back({token.id, static_cast<double>(token.frame) * frame_ms});
  }
}

}  // namespace

StreamedTokens StreamTokens(const std::shared_ptr<const Model>& model, const StreamOptions& options,
                            const std::vector<float>& samples) {
  RequireGreedySearch(options);
  Stream stream(model, options);
  StreamedTokens result;
  const auto accepted_ms = [&] {
    return 1000.0 * static_cast<double>(stream.num_samples()) / stream.options().sample_rate_hz;
  };
  const int64_t packet = std::max<int64_t>(1, stream.options().sample_rate_hz / kPacketsPerSecond);
  const EarlyTextOptions& early = options.early_text;
  int64_t num_previewed = 0;  // of the frames that wait
  for (size_t begin = 0; begin < samples.size();) {
    const int64_t to_chunk = stream.MinSamplesToChunk();
    const auto wanted = static_cast<size_t>(to_chunk > 0 ? std::min(packet, to_chunk) : packet);
    const size_t count = std::min(wanted, samples.size() - begin);
    stream.AcceptSamples(samples.data() + begin, count);
    begin += count;
    if (stream.ChunkReady()) {
      stream.Decode();
      Show(stream, accepted_ms(), &result);
      num_previewed = 0;
    } else if (early.interval > 0 &&
               stream.num_waiting_frames() / early.interval > num_previewed / early.interval) {
      num_previewed = stream.num_waiting_frames();
      Stream preview = stream.Preview(early.padding);
      preview.Decode();
      Show(preview, accepted_ms(), &result);
    }
  }
  stream.Finish();
  stream.Decode();
  Show(stream, accepted_ms(), &result);
  return result;
}

DelayMeasurement::DelayMeasurement(std::shared_ptr<const Model> model, const StreamOptions& options)
    : model_(std::move(model)),
      options_(Stream(model_, options).options()),
      alignment_setting_(WidestSetting(model_->streaming())) {
  RequireGreedySearch(options_);
  model_->parts().RequireCtcHead();
}

StreamingSetting DelayMeasurement::stream_setting() const {
  return {options_.chunk_size, options_.left_context, options_.right_context,
          options_.cached_windows};
}

std::vector<TimedToken> DelayMeasurement::AlignReference(
    const std::vector<float>& samples, const std::optional<std::string>& reference_text) const {
  const Matrix log_probs = ComputeLogProbs(*model_, samples, alignment_setting_);
  const VocabularyConfig& vocabulary = model_->parts().config.vocabulary;
  const CtcOutput output = {log_probs.rows().float32(), log_probs.count(), vocabulary.vocab_size,
                            vocabulary.blank_id};
  std::vector<int32_t> ids = GreedyIds(output);
  if (reference_text) ids = ReferenceTokens(*reference_text, ids, model_->tokens());
  const std::optional<ForcedAlignment> alignment = AlignTokens(output, ids);
  if (!alignment) {
    throw std::runtime_error("the reference of " + std::to_string(ids.size()) +
                             " tokens cannot be aligned with " + std::to_string(output.num_frames) +
                             " encoder frames; expected at least " +
                             std::to_string(MinFramesToAlign(ids)));
  }
  std::vector<TimedToken> tokens;
  for (size_t i = 0; i < ids.size(); ++i) {
    tokens.push_back({ids[i], static_cast<double>(alignment->tokens[i].first_frame) *
                                  model_->encoder_frame_ms()});
  }
  return tokens;
}

RecordingDelays DelayMeasurement::Measure(const std::vector<float>& samples,
                                          const std::optional<std::string>& reference_text) const {
  const std::vector<TimedToken> reference = AlignReference(samples, reference_text);
  const StreamedTokens streamed = StreamTokens(model_, options_, samples);
  RecordingDelays delays;
  delays.num_reference_tokens = reference.size();
  delays.num_retracted = streamed.num_retracted;
  for (const auto& [found, expected] : MatchTokens(streamed.tokens, reference)) {
    const double aligned_ms = reference[expected].start_ms;
    const TokenDelay delay = {streamed.tokens[found].start_ms - aligned_ms,
                              streamed.available_ms[found] - aligned_ms};
    delays.tokens.push_back(delay);
    if (expected == 0) delays.first = delay;
    if (expected + 1 == reference.size()) delays.last = delay;
  }
  return delays;
}

}  // namespace runnel
