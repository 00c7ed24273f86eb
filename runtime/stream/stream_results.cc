// What a stream gives its caller: text, hypotheses, utterances and their times.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/hotwords/hotword_automaton.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream/stream_state.h"

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

int64_t Stream::State::text_end() const {
  return is_over ? search().num_frames() : std::numeric_limits<int64_t>::max();
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
      utterance.nbest.push_back(MakeHypothesis(sequence, from.end_frame));
    }
    utterance.start_ms = utterance.end_ms = utterance.searched_ms;
    const std::vector<TokenSpan>& best = from.nbest.front().tokens;
    if (!best.empty()) {
      utterance.start_ms = static_cast<double>(best.front().first_frame) * frame_ms;
      utterance.end_ms = std::min(utterance.searched_ms, EndOfAudioMs(best.back().last_frame));
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

std::vector<Token> Stream::State::InMilliseconds(const std::vector<TokenSpan>& spans,
                                                 int64_t end_frame) const {
  const double frame_ms = model->encoder_frame_ms();
  std::vector<Token> tokens;
  for (const TokenSpan& span : spans) {
    tokens.push_back({span.id, static_cast<double>(span.first_frame) * frame_ms,
                      static_cast<double>(std::min(span.last_frame + 1, end_frame)) * frame_ms,
                      span.confidence, span.first_frame});
  }
  return tokens;
}

Hypothesis Stream::State::MakeHypothesis(const TokenSequence& sequence, int64_t end_frame) const {
  Hypothesis hypothesis;
  hypothesis.score = sequence.score;
  hypothesis.text = TextOf(sequence.tokens);
  hypothesis.tokens = InMilliseconds(sequence.tokens, end_frame);
  hypothesis.words = model->tokens().Words(hypothesis.tokens);
  for (const Word& word : hypothesis.words) hypothesis.confidence += word.confidence;
  if (!hypothesis.words.empty()) {
    hypothesis.confidence /= static_cast<float>(hypothesis.words.size());
  }
  if (options.search.hotwords != nullptr) AddHotwords(*options.search.hotwords, &hypothesis);
  return hypothesis;
}

}  // namespace runnel
