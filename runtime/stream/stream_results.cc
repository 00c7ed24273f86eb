// What a stream gives its caller: text, hypotheses, utterances and their times.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/hotwords/hotword_automaton.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream/stream_state.h"
#include "runtime/stream/token_times.h"

namespace runnel {
namespace {

void AddHotwords(const Hotwords& hotwords, Hypothesis* hypothesis) {
  std::vector<int32_t> ids;
  for (const Token& token : hypothesis->tokens) ids.push_back(token.id);
  for (const HotwordAutomaton::Match& match : hotwords.automaton().Matches(ids)) {
    hypothesis->hotwords.push_back({hotwords.phrase(match.phrase),
                                    hypothesis->tokens[match.first_token].start_ms,
                                    hypothesis->tokens[match.last_token].end_ms});
  }
}

}  // namespace

std::vector<TokenSequence> Stream::State::BestSequences(int n) const {
  for (int num_wanted = n;; num_wanted *= 2) {
    std::vector<TokenSequence> sequences = search().NBest(num_wanted);
    const bool has_all = sequences.size() < static_cast<size_t>(num_wanted);
    std::vector<TokenSequence> distinct;
    std::set<std::string> texts;
    for (TokenSequence& sequence : sequences) {
      if (distinct.size() == static_cast<size_t>(n)) break;
      if (texts.insert(TextOf(sequence.tokens)).second) distinct.push_back(std::move(sequence));
    }
    if (has_all || distinct.size() == static_cast<size_t>(n)) return distinct;
  }
}

SpokenFrames Stream::State::text_frames() const {
  return {spoken_end_frame, is_over ? last_end_frame : std::numeric_limits<int64_t>::max()};
}

std::string Stream::State::TextOf(const std::vector<TokenSpan>& tokens) const {
  std::string text;
  TextEnd end;
  for (const TokenSpan& token : tokens) model->tokens().AppendText(token.id, &end, &text);
  return text;
}

std::vector<Utterance> Stream::State::TakeUtterances() {
  const double frame_ms = model->encoder_frame_ms();
  std::vector<Utterance> utterances;
  for (const EndedUtterance& from : ended) {
    Utterance utterance;
    utterance.index = from.index;
    utterance.end = from.end;
    utterance.searched_ms = static_cast<double>(from.end_frame) * frame_ms;
    for (const TokenSequence& sequence : from.nbest) {
      utterance.nbest.push_back(MakeHypothesis(sequence, {from.begin_frame, from.end_frame}));
    }
    utterance.start_ms = utterance.end_ms = utterance.searched_ms;
    if (const std::optional<SpokenMs> speech = SpeechOf(from)) {
      utterance.start_ms = speech->begin;
      utterance.end_ms = speech->end;
    }
    utterances.push_back(std::move(utterance));
  }
  ended.clear();
  return utterances;
}

double Stream::State::EndOfAudioMs(int64_t encoder_frame) const {
  const SubsamplingGeometry& geometry = model->parts().encoder.subsampling();
  const int64_t num_frames = encoder_frame * geometry.rate() + geometry.right_context() + 1;
  return 1000.0 * static_cast<double>(features.extractor().SamplesForFrames(num_frames)) /
         model->sample_rate_hz();
}

// A model with durations emits punctuation late: after the pause that it found (NeMo's
// _refine_timestamps_tdt).
bool Stream::State::TakesNoTime(int32_t id) const {
  const std::optional<TransducerConfig>& transducer = model->parts().config.transducer;
  const bool has_durations = transducer_search != nullptr && !transducer->durations.empty();
  return !model->tokens().IsText(id) || (has_durations && model->tokens().IsPunctuation(id));
}

std::vector<SpokenFrames> Stream::State::FramesOfTokens(const std::vector<TokenSpan>& spans,
                                                        SpokenFrames within) const {
  return FramesOf(spans, within, [this](int32_t id) { return TakesNoTime(id); });
}

std::optional<SpokenMs> Stream::State::SpeechOf(const EndedUtterance& utterance) const {
  const std::vector<TokenSpan>& spans = utterance.nbest.front().tokens;
  const std::vector<SpokenFrames> frames =
      FramesOfTokens(spans, {utterance.begin_frame, utterance.end_frame});
  std::optional<SpokenFrames> speech;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (!model->tokens().IsText(spans[i].id)) continue;
    if (!speech) speech = frames[i];
    speech->end = frames[i].end;
  }
  if (!speech) return std::nullopt;
  const double frame_ms = model->encoder_frame_ms();
  const double begin_ms = static_cast<double>(speech->begin) * frame_ms;
  const double end_ms =
      std::min(static_cast<double>(utterance.end_frame) * frame_ms, EndOfAudioMs(speech->end - 1));
  return SpokenMs{begin_ms, std::max(begin_ms, end_ms)};
}

int64_t Stream::State::FirstFrameFrom(double ms) const {
  const double frame_ms = model->encoder_frame_ms();
  auto frame = static_cast<int64_t>(ms / frame_ms);
  while (static_cast<double>(frame) * frame_ms < ms) ++frame;
  return frame;
}

std::vector<Token> Stream::State::InMilliseconds(const std::vector<TokenSpan>& spans,
                                                 SpokenFrames within) const {
  const double frame_ms = model->encoder_frame_ms();
  const std::vector<SpokenFrames> frames = FramesOfTokens(spans, within);
  std::vector<Token> tokens;
  for (size_t i = 0; i < spans.size(); ++i) {
    tokens.push_back({spans[i].id, static_cast<double>(frames[i].begin) * frame_ms,
                      static_cast<double>(frames[i].end) * frame_ms, spans[i].confidence,
                      spans[i].first_frame});
  }
  return tokens;
}

std::vector<Token> Stream::State::BestTokensSince(size_t first) const {
  const std::vector<int32_t>& ids = search().BestIds();
  // The times of a token that takes none are those of the last one before it that takes some.
  size_t begin = std::min(first, ids.size());
  if (begin < ids.size()) {
    while (begin > 0 && TakesNoTime(ids[begin])) --begin;
  }
  std::vector<Token> tokens = InMilliseconds(search().BestTokensSince(begin), text_frames());
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(
                                                    std::min(first - begin, tokens.size())));
  return tokens;
}

Hypothesis Stream::State::MakeHypothesis(const TokenSequence& sequence, SpokenFrames within) const {
  Hypothesis hypothesis;
  hypothesis.score = sequence.score;
  hypothesis.tokens = InMilliseconds(sequence.tokens, within);
  model->tokens().Complete(&hypothesis);
  for (const Word& word : hypothesis.words) hypothesis.confidence += word.confidence;
  if (!hypothesis.words.empty()) {
    hypothesis.confidence /= static_cast<float>(hypothesis.words.size());
  }
  if (options.search.hotwords != nullptr) AddHotwords(*options.search.hotwords, &hypothesis);
  return hypothesis;
}

}  // namespace runnel
