// The utterances of a stream: where each ends, and what is kept of it.
#ifndef RUNNEL_RUNTIME_STREAM_UTTERANCES_H_
#define RUNNEL_RUNTIME_STREAM_UTTERANCES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "encoder/rows.h"
#include "runtime/model.h"
#include "runtime/result.h"
#include "runtime/stream.h"
#include "runtime/stream/cut_tokens.h"
#include "runtime/stream/endpoint_detector.h"
#include "runtime/stream/head_decoding.h"
#include "runtime/stream/token_times.h"
#include "runtime/token_table.h"

namespace runnel {

// An utterance that has ended and was not taken yet.
struct EndedUtterance {
  int64_t index = 0;
  int64_t end_frame = 0;  // the encoder frame after its last one
  SpokenMs within;  // its tokens: from the end of the speech before it to Utterance::searched_ms
  UtteranceEnd end = UtteranceEnd::kFinish;
  std::vector<TokenSequence> nbest;  // best first, at least one, no two with the same text
  // Until it is rescored (Rescore): its encoder frames, or no rows when it is too long for it. None
  // between calls of Stream.
  std::optional<Matrix> to_rescore;

  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    auto end = static_cast<int32_t>(self.end);
    fields.Counter(self.index);
    fields.Counter(self.end_frame);
    fields.Value(self.within.begin);
    fields.Value(self.within.end);
    fields.Value(end);
    const size_t count = fields.Count(self.nbest.size(), sizeof(double) + sizeof(uint64_t));
    if constexpr (Fields::kReading) {
      fields.Require(end >= 0 && end <= static_cast<int32_t>(UtteranceEnd::kEndToken),
                     "the end of an utterance is of no known kind");
      self.end = static_cast<UtteranceEnd>(end);
      self.nbest.resize(count);
    }
    for (auto& sequence : self.nbest) {
      VisitTokens(sequence.tokens, fields);
      fields.Value(sequence.score);
    }
  }
};

// Ends the utterances of a stream, and keeps those that have ended until the caller takes them, and
// the stable text of the present one. A value. `head` is that of the stream; its search has the
// tokens of the present utterance.
class Utterances {
 public:
  // `options` are resolved.
  Utterances(const Model& model, const StreamOptions& options);

  // No more audio follows: it ends here, and so do all times.
  void EndAudio(double audio_ms) { audio_ms_ = std::floor(audio_ms); }

  // For a preview: from now on no rule ends an utterance.
  void DisableRules() { has_rules_ = false; }
  bool has_rules() const { return has_rules_; }

  // The head has searched one more frame, with this natural log probability of the blank. Ends the
  // utterance, and begins the next one, where a rule says so, or the best sequence has an end
  // token. Returns whether.
  bool AfterFrame(float blank_log_prob, HeadDecoding* head);
  // The same for several frames without rules.
  void AfterFrames(int64_t count) { endpoints_.PassFrames(count); }
  // Whether a rule that asks for silence has ended the last utterance, and silence goes on.
  bool silence_goes_on() const { return endpoints_.silence_goes_on(); }

  // Begins an utterance. The next frame of the search is `first_frame`.
  void Begin(int64_t first_frame, HeadDecoding* head);
  // Ends the last utterance of the stream. Its text stays in the search. Only the first call has an
  // effect.
  void EndLast(HeadDecoding* head);
  // Continues after the utterances that ended in `finished`, a copy of these, with its head, for
  // which the audio ended here. num_frames: encoder frames of this audio, those of skipped silence
  // included. Returns whether an utterance ended: none does without a new frame.
  bool BeginAfter(Utterances* finished, HeadDecoding* finished_head, int64_t num_frames,
                  const TokenTimes& times, HeadDecoding* head);
  // For a CTC head: passes over frames whose tokens BeginAfter has handed out. log_probs:
  // (num_rows, vocab_size), of the frames from the search's next one on.
  void PassCutTokens(const float* log_probs, int64_t num_rows, CtcSearch* search);

  // Brings the stable text up to date with the search. Call it after every step that advances the
  // search.
  void Update(const Search& search);
  // The stable text is complete: nothing follows the bytes at its end. Call it after Update.
  void FinishText() { TokenTable::FinishText(&stable_end_, &stable_text_); }

  // The encoder frame with which the text of the search begins.
  int64_t text_begin(const Search& search) const {
    return search.num_frames() - endpoints_.num_frames();
  }
  // The times of the tokens of the search, as TimesOf takes them: up to the end of what is
  // searched.
  SpokenMs text_times(const Search& search) const;
  // The end of the audio of the encoder frames before `end_frame`.
  double SearchedMs(int64_t end_frame) const {
    return std::min(EndOfFramesMs(*model_, end_frame), audio_ms_);
  }
  // Text of the search's first num_stable_ids() ids, which no later audio changes.
  const std::string& stable_text() const { return stable_text_; }
  const TextEnd& stable_end() const { return stable_end_; }
  size_t num_stable_ids() const { return num_stable_ids_; }

  // Those that are not taken yet, in their order.
  std::vector<EndedUtterance>& ended() { return ended_; }
  const std::vector<EndedUtterance>& ended() const { return ended_; }
  int64_t num_ended() const { return num_ended_; }  // of the stream
  // Whether the last utterance of the stream has ended.
  bool are_over() const { return are_over_; }
  // EndedUtterance::end_frame of the last one that has ended. After BeginAfter the end of the
  // frames that it was given, which may be later.
  int64_t last_end_frame() const { return last_end_frame_; }

  // For the snapshot of a stream (runtime/snapshot/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    EndpointDetector::VisitState(self.endpoints_, fields);
    fields.Counter(self.num_ended_);
    fields.Counter(self.last_end_frame_);
    fields.Value(self.searched_ms_);
    fields.Value(self.spoken_ms_);
    CutTokens::VisitState(self.cut_tokens_, fields);
    fields.Value(self.are_over_);
    constexpr size_t kUtteranceSize =
        2 * sizeof(int64_t) + 2 * sizeof(double) + sizeof(int32_t) + sizeof(uint64_t);
    const size_t count = fields.Count(self.ended_.size(), kUtteranceSize);
    if constexpr (Fields::kReading) self.ended_.resize(count);
    for (auto& utterance : self.ended_) EndedUtterance::VisitState(utterance, fields);
  }
  // Which restored parts contradict each other or the head; "" if none do.
  std::string Inconsistency(const HeadDecoding& head) const;

 private:
  bool HasEndToken(const std::vector<int32_t>& ids) const;
  // False for an endpoint after no text, which ends no utterance.
  bool End(UtteranceEnd end, HeadDecoding* head);
  // No later utterance begins before the end of this one.
  void MarkSpoken(const EndedUtterance& utterance, const TokenTimes& times);
  // The search stands at the beginning of an utterance.
  void ForgetUtterance(HeadDecoding* head);
  // Of BeginAfter: the search goes on after the tokens of the utterances that have ended in
  // `finished` only. Returns those that a CTC search may find again.
  CutTokens ContinueSearch(std::vector<EndedUtterance>::const_iterator first_new,
                           const Utterances& finished, HeadDecoding* finished_head,
                           HeadDecoding* head) const;
  std::string CutTokensProblem(const HeadDecoding& head) const;

  const Model* model_;
  const TokenTable* text_tokens_;  // TextTokens
  int nbest_;
  bool has_rules_;
  EndpointDetector endpoints_;
  std::vector<EndedUtterance> ended_;  // not taken yet
  int64_t num_ended_ = 0;
  int64_t last_end_frame_ = 0;
  double searched_ms_ = 0;  // Utterance::searched_ms of the last one that has ended
  // Before this no token of the present utterance begins: the end of the speech of the utterances
  // that have ended, where frames of them are searched again.
  double spoken_ms_ = 0;
  double audio_ms_ = std::numeric_limits<double>::infinity();  // whole ones, once it has ended
  CutTokens cut_tokens_;                                       // that a CTC search may find again
  bool are_over_ = false;  // the last utterance has ended; the search still holds it
  std::string stable_text_;
  TextEnd stable_end_;
  size_t num_stable_ids_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_UTTERANCES_H_
