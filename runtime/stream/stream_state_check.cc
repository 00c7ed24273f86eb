// Whether the parts of a restored stream fit together.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/model/model_parts.h"
#include "runtime/stream/stream_state.h"
#include "runtime/text/utf8.h"

namespace runnel {

std::string Stream::State::Inconsistency() const {
  const auto differ = [](const char* what, int64_t found, int64_t expected) {
    return std::string(what) + " is " + std::to_string(found) + "; expected " +
           std::to_string(expected);
  };
  if (!IsUtf8(failure)) return "the reason of its failure is not UTF-8";
  if (resampler) {
    if (features.samples_accepted() != resampler->num_out()) {
      return differ("number of resampled samples", features.samples_accepted(),
                    resampler->num_out());
    }
    if (features.finished() != resampler->flushed()) {
      return "the resampler and the features differ in whether the audio has ended";
    }
    if (!features.finished()) {
      const std::vector<float>& held = resampler->held();
      features.CheckSamples(held.data(), held.size(), 0);
    }
  }
  const int64_t num_held = static_cast<int64_t>(gate.num_held());
  if (gate.is_closed() ? features.frames_popped() < encoder.num_frames + num_held
                       : features.frames_popped() != encoder.num_frames + num_held) {
    return differ("number of feature frames in the encoder", encoder.num_frames,
                  features.frames_popped() - num_held);
  }
  if (num_held > 0 && !options.endpoints.skip_silence) return "feature frames wait for speech";
  if (encoder.ended && !(features.finished() && features.NumFramesReady() == 0)) {
    return "the encoder has ended before the audio";
  }
  std::string problem =
      model->parts().encoder.Inconsistency(encoder, options.left_context, failure.empty());
  if (!problem.empty()) return problem;
  return UtteranceProblem();
}

std::string Stream::State::UtteranceProblem() const {
  // FinalizeUtterance searches frames in a copy, before this stream's encoder computes them: fewer
  // than the audio has, with some more for what is padded at the end of the audio.
  constexpr int64_t kMostPadded = 64;
  const VocabularyConfig& vocabulary = model->parts().config.vocabulary;
  const double frame_samples = model->encoder_frame_ms() / 1000 * options.sample_rate_hz;
  const int64_t given = features.frames_accepted() / model->parts().encoder.subsampling().rate();
  const int64_t most =
      std::max(given, static_cast<int64_t>(static_cast<double>(num_samples()) / frame_samples));
  const int64_t searched = search().num_frames();
  if (std::max(searched, last_end_frame) > std::max(encoder.offset, most + kMostPadded) ||
      (searched < encoder.offset && failure.empty())) {
    return "number of encoder frames in the search is " + std::to_string(searched) +
           "; expected about " + std::to_string(encoder.offset);
  }
  if (kept_rows.count() > RescoringOptions::kMaxFrames || first_kept_row < 0 ||
      (kept_rows.count() > 0 && first_kept_row + kept_rows.count() != encoder.offset) ||
      !AllFinite(std::as_const(kept_rows).rows())) {
    return "the encoder frames kept for rescoring do not end with the last one";
  }
  if (spoken_end_frame > last_end_frame) {
    return "the times of its utterances go on after their last frame";
  }
  if (!cut_tokens.empty()) {
    std::string problem =
        cut_tokens.Inconsistency(last_end_frame, vocabulary.vocab_size, vocabulary.blank_id);
    if (!problem.empty()) return problem;
    if (ctc_search == nullptr || cut_tokens.end_frame() <= searched) {
      return "the tokens that an utterance ended with are not among the frames to be searched";
    }
    if (!search().BestIds().empty()) {
      return "the search has tokens before it has found those that an utterance ended with";
    }
  }
  if (is_over && !IsFinal()) return "its last utterance has ended before the audio";
  if (num_utterances < static_cast<int64_t>(ended.size())) {
    return "number of its utterances is " + std::to_string(num_utterances);
  }
  const TokenOrder order = ctc_search ? TokenOrder::kApart : TokenOrder::kSharedFrames;
  int64_t index = num_utterances - static_cast<int64_t>(ended.size());
  for (const EndedUtterance& utterance : ended) {
    if (utterance.index != index++) return "the numbers of its utterances do not ascend";
    if (utterance.begin_frame > utterance.end_frame || utterance.end_frame > last_end_frame) {
      return "the end of an utterance is not among the frames";
    }
    if (utterance.nbest.empty()) return "an utterance has no hypothesis";
    for (const TokenSequence& sequence : utterance.nbest) {
      if (!std::isfinite(sequence.score)) return "the score of an utterance is not finite";
      std::string problem = TokenProblem(sequence.tokens, order, utterance.end_frame,
                                         vocabulary.vocab_size, vocabulary.blank_id);
      if (!problem.empty()) return problem;
    }
  }
  return "";
}

}  // namespace runnel
