#include "runtime/stream/utterances.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/model/model_parts.h"
#include "runtime/search/log_probs.h"

namespace runnel {
namespace {

// Whether the stream ends such an utterance, and not its caller.
bool EndsByItself(UtteranceEnd end) {
  return end == UtteranceEnd::kEndpoint || end == UtteranceEnd::kEndToken;
}

}  // namespace

Utterances::Utterances(const Model& model, const StreamOptions& options)
    : model_(&model),
      text_tokens_(&TextTokens(model, options)),
      nbest_(options.nbest),
      has_rules_(options.endpoints.enabled),
      endpoints_(options.endpoints, model.encoder_frame_ms()) {}

bool Utterances::AfterFrame(float blank_log_prob, HeadDecoding* head) {
  if (!has_rules_) {
    endpoints_.PassFrames(1);
    return false;
  }
  Search& search = head->search();
  const bool rule_holds = endpoints_.Advance(blank_log_prob, !search.BestIds().empty());
  const bool has_end_token = HasEndToken(search.BestIds());
  if (!rule_holds && !has_end_token) return false;
  if (has_end_token && !rule_holds) endpoints_.EndWithoutSilence();
  if (End(has_end_token ? UtteranceEnd::kEndToken : UtteranceEnd::kEndpoint, head)) {
    // Where frames are searched again, its last token may end after the frame that the next
    // utterance begins with.
    MarkSpoken(ended_.back(), TokenTimes(*model_, head->is_ctc() ? Head::kCtc : Head::kTransducer));
  }
  if (has_end_token || endpoints_.follows_silence()) {
    Begin(search.num_frames(), head);
  } else {
    search.ContinueAfter(search.NBest(1).front().tokens);  // the length may cut a word
    ForgetUtterance(head);
  }
  return true;
}

bool Utterances::HasEndToken(const std::vector<int32_t>& ids) const {
  const TokenTable& tokens = model_->tokens();
  return tokens.has_end_tokens() &&
         std::any_of(ids.begin(), ids.end(), [&](int32_t id) { return tokens.IsEnd(id); });
}

void Utterances::Begin(int64_t first_frame, HeadDecoding* head) {
  head->search().StartUtterance(first_frame);
  ForgetUtterance(head);
}

void Utterances::EndLast(HeadDecoding* head) {
  if (are_over_) return;
  End(UtteranceEnd::kFinish, head);
  are_over_ = true;
}

bool Utterances::End(UtteranceEnd end, HeadDecoding* head) {
  std::vector<TokenSequence> nbest = head->Finish(nbest_);
  if (EndsByItself(end) && head->TextOf(nbest.front().tokens).empty()) return false;
  const Search& search = head->search();
  // Frames after the last token of an utterance may be searched again.
  last_end_frame_ = std::max(last_end_frame_, search.num_frames());
  searched_ms_ = std::max(searched_ms_, SearchedMs(last_end_frame_));
  ended_.push_back({num_ended_, last_end_frame_, text_times(search), end, std::move(nbest),
                    head->RowsToRescore(text_begin(search), last_end_frame_)});
  ++num_ended_;
  return true;
}

void Utterances::MarkSpoken(const EndedUtterance& utterance, const TokenTimes& times) {
  const std::vector<TokenSpan>& tokens = utterance.nbest.front().tokens;
  if (const std::optional<SpokenMs> speech = times.SpeechOf(tokens, utterance.within)) {
    spoken_ms_ = std::max(spoken_ms_, speech->end);
  }
}

void Utterances::ForgetUtterance(HeadDecoding* head) {
  endpoints_.StartUtterance();
  cut_tokens_.Clear();
  head->DropRowsBefore(text_begin(head->search()));
  stable_text_.clear();
  stable_end_ = TextEnd();
  num_stable_ids_ = 0;
}

bool Utterances::BeginAfter(Utterances* finished, HeadDecoding* finished_head, int64_t num_frames,
                            const TokenTimes& times, HeadDecoding* head) {
  // All frames are searched again. What a rule ends in them now is no news.
  if (num_frames <= last_end_frame_) return false;
  std::vector<EndedUtterance>& ended = finished->ended_;
  const int64_t last_end = ended.size() > 1 ? ended[ended.size() - 2].end_frame : last_end_frame_;
  if (finished->endpoints_.num_frames() > 0 && finished_head->search().num_frames() > last_end) {
    ended.back().end = UtteranceEnd::kFinalize;
  } else {  // the last utterance has no new frame
    ended.pop_back();
    --finished->num_ended_;
  }
  if (finished->num_ended_ == num_ended_) return false;
  const auto first_new = ended.cend() - (finished->num_ended_ - num_ended_);
  CutTokens found_again = ContinueSearch(first_new, *finished, finished_head, head);
  for (auto utterance = first_new; utterance != ended.cend(); ++utterance) {
    MarkSpoken(*utterance, times);
  }
  ended_ = std::move(ended);
  num_ended_ = finished->num_ended_;
  last_end_frame_ = num_frames;  // also those of silence that the copy has skipped
  searched_ms_ = finished->searched_ms_;
  ForgetUtterance(head);
  cut_tokens_ = std::move(found_again);
  return true;
}

// The frames after the last token that was handed out are searched again, when the encoder has
// computed them with the audio that follows. In the copy they were the last ones: a token that
// needs this audio was not found.
CutTokens Utterances::ContinueSearch(std::vector<EndedUtterance>::const_iterator first_new,
                                     const Utterances& finished, HeadDecoding* finished_head,
                                     HeadDecoding* head) const {
  const int64_t begin = head->search().num_frames();
  std::vector<TokenSpan> known;  // that this search has found too
  std::vector<TokenSpan> found;
  bool rule_holds = false;
  for (auto utterance = first_new; utterance != finished.ended_.end(); ++utterance) {
    for (const TokenSpan& token : utterance->nbest.front().tokens) {
      (token.first_frame < begin ? known : found).push_back(token);
    }
    rule_holds = rule_holds || EndsByItself(utterance->end);
  }
  if (head->is_ctc() || found.empty()) {
    if (found.empty() && rule_holds) {
      head->search().StartUtterance(begin);
    } else {
      head->search().ContinueAfter(known);
    }
    CutTokens tokens;
    if (known.empty()) tokens = cut_tokens_;  // of a call before this one
    tokens.Add(found);
    return tokens;
  }
  // After a rule the copy's search has an utterance without tokens.
  const EndedUtterance& last = finished.ended_.back();
  const bool is_after_rule = EndsByItself(last.end);
  head->ReturnTo(finished_head,
                 is_after_rule ? std::vector<TokenSpan>() : last.nbest.front().tokens,
                 finished.text_begin(finished_head->search()));
  return {};
}

void Utterances::PassCutTokens(const float* log_probs, int64_t num_rows, CtcSearch* search) {
  if (cut_tokens_.empty() || num_rows == 0) return;
  const VocabularyConfig& vocabulary = model_->parts().config.vocabulary;
  const int64_t begin = search->num_frames();
  const int64_t count = std::min(num_rows, cut_tokens_.end_frame() - begin);
  const std::vector<int32_t> ids = MostProbableIds(log_probs, count, vocabulary.vocab_size, begin);
  const std::optional<CutTokens::Place> place =
      cut_tokens_.Pass(ids, vocabulary.blank_id, {begin, search->TokenOfLastFrame()});
  if (place) search->StartUtteranceAfter(place->token_before, place->frame);
}

void Utterances::Update(const Search& search) {
  const std::vector<int32_t>& ids = search.BestIds();
  if (!ids.empty()) cut_tokens_.Clear();  // the first of these was not handed out
  const size_t num_stable = are_over_ ? ids.size() : search.NumStableIds();
  for (; num_stable_ids_ < num_stable; ++num_stable_ids_) {
    text_tokens_->AppendText(ids[num_stable_ids_], &stable_end_, &stable_text_);
  }
}

SpokenMs Utterances::text_times(const Search& search) const {
  return {std::max(spoken_ms_, SearchedMs(text_begin(search))),
          std::max(searched_ms_, SearchedMs(search.num_frames()))};
}

std::string Utterances::Inconsistency(const HeadDecoding& head) const {
  const bool have_times = spoken_ms_ >= 0 && spoken_ms_ <= searched_ms_ &&
                          searched_ms_ <= EndOfFramesMs(*model_, last_end_frame_);
  if (!have_times) return "the times of its utterances go on after their last frame";
  std::string problem = CutTokensProblem(head);
  if (!problem.empty()) return problem;
  if (num_ended_ < static_cast<int64_t>(ended_.size())) {
    return "number of its utterances is " + std::to_string(num_ended_);
  }
  const VocabularyConfig& vocabulary = model_->parts().config.vocabulary;
  const TokenOrder order = head.is_ctc() ? TokenOrder::kApart : TokenOrder::kSharedFrames;
  int64_t index = num_ended_ - static_cast<int64_t>(ended_.size());
  for (const EndedUtterance& utterance : ended_) {
    if (utterance.index != index++) return "the numbers of its utterances do not ascend";
    const SpokenMs& within = utterance.within;
    const bool has_times =
        within.begin >= 0 && within.begin <= within.end && within.end <= searched_ms_;
    if (!has_times || utterance.end_frame > last_end_frame_) {
      return "the end of an utterance is not among the frames";
    }
    if (utterance.nbest.empty()) return "an utterance has no hypothesis";
    for (const TokenSequence& sequence : utterance.nbest) {
      if (!std::isfinite(sequence.score)) return "the score of an utterance is not finite";
      problem = TokenProblem(sequence.tokens, order, utterance.end_frame, vocabulary.vocab_size,
                             vocabulary.blank_id);
      if (!problem.empty()) return problem;
    }
  }
  return "";
}

std::string Utterances::CutTokensProblem(const HeadDecoding& head) const {
  if (cut_tokens_.empty()) return "";
  const VocabularyConfig& vocabulary = model_->parts().config.vocabulary;
  std::string problem =
      cut_tokens_.Inconsistency(last_end_frame_, vocabulary.vocab_size, vocabulary.blank_id);
  if (!problem.empty()) return problem;
  if (!head.is_ctc() || cut_tokens_.end_frame() <= head.search().num_frames()) {
    return "the tokens that an utterance ended with are not among the frames to be searched";
  }
  if (!head.search().BestIds().empty()) {
    return "the search has tokens before it has found those that an utterance ended with";
  }
  return "";
}

}  // namespace runnel
