// The state of a stream: resampler, features, encoder and search, as one value that can be copied
// and saved.
//
// This folder implements Stream: decoding in batches, snapshots.
#ifndef RUNNEL_RUNTIME_STREAM_STREAM_STATE_H_
#define RUNNEL_RUNTIME_STREAM_STREAM_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encoder/encoder.h"
#include "frontend/feature_stream.h"
#include "frontend/resampler.h"
#include "runtime/model.h"
#include "runtime/result.h"
#include "runtime/search/ctc_search.h"
#include "runtime/search/transducer_search.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/stream.h"
#include "runtime/stream/cut_tokens.h"
#include "runtime/stream/endpoint_detector.h"
#include "runtime/stream/silence_gate.h"
#include "runtime/stream/token_times.h"
#include "runtime/stream/transducer_decoding.h"
#include "runtime/token_table.h"

namespace runnel {

// An utterance that has ended and was not taken yet.
struct EndedUtterance {
  int64_t index = 0;
  int64_t begin_frame = 0;  // the encoder frame before which no token begins
  int64_t end_frame = 0;    // the encoder frame after its last one
  UtteranceEnd end = UtteranceEnd::kFinish;
  std::vector<TokenSequence> nbest;  // best first, at least one, no two with the same text

  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    auto end = static_cast<int32_t>(self.end);
    fields.Counter(self.index);
    fields.Counter(self.begin_frame);
    fields.Counter(self.end_frame);
    fields.Value(end);
    const size_t count = fields.Count(self.nbest.size(), sizeof(double) + sizeof(uint64_t));
    if constexpr (Fields::kReading) {
      fields.Require(end >= 0 && end <= static_cast<int32_t>(UtteranceEnd::kFinish),
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

// Functions with a name of Stream do what that function of Stream does.
struct Stream::State {
  State(std::shared_ptr<const Model> shared_model, const StreamOptions& stream_options);
  State(const State& other);

  int64_t num_samples() const;
  void AcceptSamples(const float* samples, size_t count);
  void AcceptFeatures(const float* frames, size_t count);
  void Finish();
  int64_t num_waiting_frames() const;
  int64_t MinSamplesTo(int64_t count) const;
  std::optional<EncoderChunk> NextChunk() const;
  // Moves the feature frames of the next chunk to the encoder.
  std::vector<float> TakeFrames(int64_t num_frames);
  // Whether no audio follows.
  bool ends() const { return features.finished() || is_preview; }
  // The encoder frame with which the text of the search begins.
  int64_t text_begin() const { return search().num_frames() - endpoints.num_frames(); }
  // The encoder frames in which the tokens of the search are, as FramesOf takes them. While it goes
  // on, their end is the largest number.
  SpokenFrames text_frames() const;
  // Makes this copy a preview (Stream::Preview).
  void EndWithPadding(int64_t num_frames);
  bool IsFinal() const;
  std::vector<Utterance> TakeUtterances();
  int64_t utterance_index() const { return num_utterances - (is_over ? 1 : 0); }

  // The search of the stream's head.
  Search& search() { return const_cast<Search&>(std::as_const(*this).search()); }
  const Search& search() const {
    return ctc_search ? static_cast<const Search&>(*ctc_search) : *transducer_search;
  }

  // A stream, and the encoder frames that a step has just computed for it.
  struct Computed {
    State* state;
    ConstRows rows;
  };
  // Keeps the frames that the encoder has just computed, for Rescore.
  void KeepRows(ConstRows rows);
  // Scores the utterances that have ended since the last call, of streams of one model, with its
  // attention decoder, all in one batch (rescoring.cc). Does nothing for streams without rescoring.
  static void Rescore(const std::vector<State*>& streams);
  // Tells the rows of a step their streams' languages.
  static void ApplyPrompt(const std::vector<State*>& streams, EncoderOutput* output);
  // Search these frames, and end utterances (decode_chunks.cc). All streams are of one model and of
  // the head that the name says; at least one. Set `failure` of a stream whose probabilities are
  // not finite.
  static void SearchCtc(const std::vector<Computed>& streams);
  static void SearchTransducer(const std::vector<Computed>& streams);

  // Ends the last utterance when the stream is final, and updates the stable text. Call it after
  // every step that may make the stream final or advance the search.
  void UpdateResults();

  // Continues after the utterances that ended in `copy`, a copy of this stream that is final now.
  void BeginAfter(State* copy);

  // The best sequences of the search, at most `n`, no two with the same text.
  std::vector<TokenSequence> BestSequences(int n) const;
  std::string TextOf(const std::vector<TokenSpan>& tokens) const;
  // `within`: the frames of an utterance, or text_frames(). A duration of TDT may lead further, and
  // after FinalizeUtterance a token may begin before them.
  std::vector<Token> InMilliseconds(const std::vector<TokenSpan>& spans, SpokenFrames within) const;
  // Those of the best sequence from index `first` on.
  std::vector<Token> BestTokensSince(size_t first) const;
  Hypothesis MakeHypothesis(const TokenSequence& sequence, SpokenFrames within) const;

  // Everything but the model and the options, for a snapshot (runtime/snapshot/state_fields.h). A
  // State to read into is made with the same model and options.
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    int64_t chunk_size = self.options.chunk_size;  // once more
    fields.Value(chunk_size);
    if constexpr (Fields::kReading) {
      fields.Require(chunk_size == self.options.chunk_size, "its chunk_size has two values");
    }
    if (self.resampler) Resampler::VisitState(*self.resampler, fields);
    FeatureStream::VisitState(self.features, fields);
    SilenceGate::VisitState(self.gate, fields);
    EncoderState::VisitState(self.encoder, fields);
    fields.Text(self.failure);
    EndpointDetector::VisitState(self.endpoints, fields);
    fields.Counter(self.num_utterances);
    fields.Counter(self.last_end_frame);
    fields.Counter(self.spoken_end_frame);
    CutTokens::VisitState(self.cut_tokens, fields);
    fields.Value(self.is_over);
    constexpr size_t kUtteranceSize = 3 * sizeof(int64_t) + sizeof(int32_t) + sizeof(uint64_t);
    const size_t num_ended = fields.Count(self.ended.size(), kUtteranceSize);
    if constexpr (Fields::kReading) self.ended.resize(num_ended);
    for (auto& utterance : self.ended) EndedUtterance::VisitState(utterance, fields);
    fields.Counter(self.first_kept_row);
    Matrix::VisitState(self.kept_rows, fields);
    if constexpr (Fields::kReading) {
      self.search().Restore(&fields);
      fields.Check(self.Inconsistency());
      self.UpdateResults();
    } else {
      self.search().Save(&fields);
    }
  }

  // Which restored parts contradict each other; "" if none do. Throws std::invalid_argument for
  // samples that AcceptSamples would refuse.
  std::string Inconsistency() const;

  std::shared_ptr<const Model> model;
  StreamOptions options;
  std::optional<Resampler> resampler;  // when the rate of the samples is not the model's
  FeatureStream features;
  SilenceGate gate;  // between features and encoder; with endpoints.skip_silence
  // A preview's audio ends with the frames that are complete, followed by `padding`: feature
  // frames, (num_padding, dim).
  bool is_preview = false;
  std::vector<float> padding;
  EncoderState encoder;
  std::unique_ptr<CtcSearch> ctc_search;                // null: a transducer searches
  std::unique_ptr<TransducerSearch> transducer_search;  // null: CTC
  EndpointDetector endpoints;
  std::vector<EndedUtterance> ended;  // not taken yet
  int64_t num_utterances = 0;         // that have ended
  int64_t last_end_frame = 0;         // EndedUtterance::end_frame of the last of them
  // The encoder frame before which no token of the present utterance begins: that after the times
  // of the utterances that FinalizeUtterance has ended.
  int64_t spoken_end_frame = 0;
  CutTokens cut_tokens;  // that a CTC search may find again
  bool is_over = false;  // the last utterance has ended; the search still holds it
  // Text of the search's first num_stable_ids ids, which no later audio changes.
  std::string stable_text;
  TextEnd stable_end;
  size_t num_stable_ids = 0;
  std::string failure;
  bool has_endpoint = false;  // in the frames of this step
  // With rescoring: encoder frames of the present utterance, the first of which is the encoder
  // frame first_kept_row. They begin later than the utterance when it is too long to be rescored.
  Matrix kept_rows;
  int64_t first_kept_row = 0;
  // The frames of the last items of `ended`, as many as there are: to be rescored. Empty between
  // calls of Stream.
  std::vector<Matrix> to_rescore;

 private:
  // While the gate is closed: moves the frames that are complete into it, until it opens.
  void WatchForSpeech();
  // Feature frames that could be given to the encoder.
  int64_t NumFramesReady() const;
  // log_probs: (num_rows, vocab_size).
  void SearchCtc(const float* log_probs, int64_t num_rows);
  // A segment for SearchTransducer, whose result EndSearch takes. projected: rows of
  // Transducer::ProjectEncoder. ctc_log_probs: of the same frames, or null.
  TransducerSegment BeginSearch(ConstRows projected, const float* ctc_log_probs);
  void EndSearch(const TransducerSegment& segment);
  // New rows that FinalizeUtterance has not searched already.
  int64_t NumUnsearched(int64_t num_rows) const;
  // Hands them to Rescore, for the last item of `ended`.
  void AddToRescore();
  // Forgets those that are not of the present utterance.
  void DropRows();
  void Fail(const std::string& reason);
  // A frame is searched, which may end the utterance.
  void AfterFrame(float blank_log_prob);
  // All frames of a step are searched.
  void AfterStep();
  void OnEndpoints();
  void EndUtterance(UtteranceEnd end);
  // The next frame of the search is `first_frame`.
  void BeginUtterance(int64_t first_frame);
  // The search stands at the beginning of an utterance.
  void ForgetUtterance();
  // Of BeginAfter: the search goes on after the tokens that `copy` handed out. Returns those that a
  // CTC search may find again.
  CutTokens ContinueSearch(State* copy);
  // Of a copy of `original`: the first utterance that has ended in the copy only.
  std::vector<EndedUtterance>::const_iterator FirstEndedSince(const State& original) const;
  // The CTC search passes over those of cut_tokens. log_probs: of the frames from the search's next
  // one on.
  void PassCutTokens(const float* log_probs, int64_t num_rows);
  // Whether a token has no duration of its own (token_times.h): special tokens, and punctuation of
  // a model with durations.
  bool TakesNoTime(int32_t id) const;
  // As InMilliseconds: the frames of each token.
  std::vector<SpokenFrames> FramesOfTokens(const std::vector<TokenSpan>& spans,
                                           SpokenFrames within) const;
  // From the start of the first to the end of the last token that is text; none without such
  // tokens.
  std::optional<SpokenMs> SpeechOf(const EndedUtterance& utterance) const;
  // The end of the audio that this encoder frame reads.
  double EndOfAudioMs(int64_t encoder_frame) const;
  // The first encoder frame that does not begin before this time.
  int64_t FirstFrameFrom(double ms) const;
  std::string UtteranceProblem() const;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_STREAM_STATE_H_
