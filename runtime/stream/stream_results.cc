// Results of a stream: text, tokens, hypotheses and utterances.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/hotwords/hotword_automaton.h"
#include "runtime/stream.h"
#include "runtime/stream/stream_state.h"
#include "runtime/stream/token_times.h"
#include "runtime/token_table.h"

namespace runnel {
namespace {

TokenTimes TokenTimesOf(const Stream& stream) {
  return {stream.model(), stream.options().search.head};
}

void AddHotwords(const Hotwords& hotwords, Hypothesis* hypothesis) {
  std::vector<int32_t> ids;
  for (const Token& token : hypothesis->tokens) ids.push_back(token.id);
  for (const HotwordAutomaton::Match& match : hotwords.automaton().Matches(ids)) {
    hypothesis->hotwords.push_back({hotwords.phrase(match.phrase),
                                    hypothesis->tokens[match.first_token].start_ms,
                                    hypothesis->tokens[match.last_token].end_ms});
  }
}

// `within`: the times of the utterance.
Hypothesis MakeHypothesis(const TokenSequence& sequence, SpokenMs within,
                          UnfinishedCharacter unfinished, const Stream& stream) {
  Hypothesis hypothesis;
  hypothesis.score = sequence.score;
  hypothesis.tokens = TokenTimesOf(stream).InMilliseconds(sequence.tokens, within);
  TextTokens(stream.model(), stream.options()).Complete(&hypothesis, unfinished);
  for (const Word& word : hypothesis.words) hypothesis.confidence += word.confidence;
  if (!hypothesis.words.empty()) {
    hypothesis.confidence /= static_cast<float>(hypothesis.words.size());
  }
  const auto& hotwords = stream.options().search.hotwords;
  if (hotwords != nullptr) AddHotwords(*hotwords, &hypothesis);
  return hypothesis;
}

Utterance MakeUtterance(const EndedUtterance& ended, const Stream& stream) {
  Utterance utterance;
  utterance.index = ended.index;
  utterance.end = ended.end;
  utterance.searched_ms = ended.within.end;
  for (const TokenSequence& sequence : ended.nbest) {
    utterance.nbest.push_back(
        MakeHypothesis(sequence, ended.within, UnfinishedCharacter::kReplace, stream));
  }
  const std::optional<SpokenMs> speech =
      TokenTimesOf(stream).SpeechOf(ended.nbest.front().tokens, ended.within);
  utterance.start_ms = speech ? speech->begin : utterance.searched_ms;
  utterance.end_ms = speech ? speech->end : utterance.searched_ms;
  return utterance;
}

}  // namespace

std::vector<Utterance> Stream::TakeUtterances() {
  std::vector<Utterance> utterances;
  for (const EndedUtterance& ended : state_->utterances.ended()) {
    utterances.push_back(MakeUtterance(ended, *this));
  }
  state_->utterances.ended().clear();
  return utterances;
}

int64_t Stream::utterance_index() const {
  return state_->utterances.num_ended() - (state_->utterances.are_over() ? 1 : 0);
}

int64_t Stream::text_begin() const { return state_->utterances.text_begin(state_->head.search()); }

int64_t Stream::first_utterance() const {
  return state_->utterances.num_ended() - static_cast<int64_t>(state_->utterances.ended().size());
}

double Stream::EndOfFramesMs(int64_t num_encoder_frames) const {
  return state_->utterances.SearchedMs(num_encoder_frames);
}

std::string Stream::Text() const { return TextSince(0); }

bool Stream::BeginsWord() const {
  return TextTokens(model(), options()).BeginsWord(state_->head.search().BestIds());
}

size_t Stream::StableTextSize() const { return state_->utterances.stable_text().size(); }

std::string Stream::TextSince(size_t position) const {
  if (position > StableTextSize()) {
    throw std::invalid_argument("TextSince: position is " + std::to_string(position) +
                                ", expected at most StableTextSize(), " +
                                std::to_string(StableTextSize()));
  }
  std::string text = state_->utterances.stable_text().substr(position);
  const std::vector<int32_t>& ids = state_->head.search().BestIds();
  const TokenTable& tokens = TextTokens(model(), options());
  TextEnd end = state_->utterances.stable_end();
  for (size_t i = NumStableTokens(); i < ids.size(); ++i) {
    tokens.AppendText(ids[i], &end, &text);
  }
  return text;
}

size_t Stream::NumStableTokens() const { return state_->utterances.num_stable_ids(); }

std::vector<Token> Stream::TokensSince(size_t first) const {
  if (first > NumStableTokens()) {
    throw std::invalid_argument("TokensSince: first is " + std::to_string(first) +
                                ", expected at most NumStableTokens(), " +
                                std::to_string(NumStableTokens()));
  }
  const Search& search = state_->head.search();
  const std::vector<int32_t>& ids = search.BestIds();
  const TokenTimes times = TokenTimesOf(*this);
  // The times of a token that takes none are those of the last one before it that takes some.
  size_t begin = std::min(first, ids.size());
  if (begin < ids.size()) {
    while (begin > 0 && times.TakesNoTime(ids[begin])) --begin;
  }
  std::vector<Token> tokens =
      times.InMilliseconds(search.BestTokensSince(begin), state_->utterances.text_times(search));
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(
                                                    std::min(first - begin, tokens.size())));
  return tokens;
}

std::vector<Hypothesis> Stream::NBest(int n) const {
  std::vector<Hypothesis> hypotheses;
  const UnfinishedCharacter unfinished =
      state_->HasWholeText() ? UnfinishedCharacter::kReplace : UnfinishedCharacter::kLeaveOut;
  const SpokenMs within = state_->utterances.text_times(state_->head.search());
  for (const TokenSequence& sequence : state_->head.BestSequences(n)) {
    hypotheses.push_back(MakeHypothesis(sequence, within, unfinished, *this));
  }
  return hypotheses;
}

Hypothesis Stream::Best() const { return NBest(1).front(); }

}  // namespace runnel
