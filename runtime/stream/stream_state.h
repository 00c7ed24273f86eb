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
#include <vector>

#include "encoder/encoder.h"
#include "frontend/feature_stream.h"
#include "frontend/resampler.h"
#include "runtime/model.h"
#include "runtime/result.h"
#include "runtime/search/ctc_search.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/stream.h"
#include "runtime/token_table.h"

namespace runnel {

// Functions with a name of Stream do what that function of Stream does.
struct Stream::State {
  State(std::shared_ptr<const Model> shared_model, const StreamOptions& stream_options);
  State(const State& other);

  int64_t num_samples() const;
  void AcceptSamples(const float* samples, size_t count);
  void Finish();
  int64_t MinSamplesToChunk() const;
  std::optional<EncoderChunk> NextChunk() const;
  bool IsFinal() const;
  void Reset();

  // Takes the log probabilities, (num_rows, vocab_size), of the frames that the encoder has just
  // computed. Sets `failure` when they are not finite.
  void Search(const float* log_probs, int64_t num_rows);

  // Updates the stable text. Call it after every step that may make the stream final or advance the
  // search.
  void UpdateResults();

  std::vector<Token> InMilliseconds(const std::vector<TokenSpan>& spans) const;
  Hypothesis MakeHypothesis(const TokenSequence& sequence) const;

  // Everything but the model and the options, for a snapshot (runtime/snapshot/state_fields.h). A
  // State to read into is made with the same model and options.
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    if (self.resampler) Resampler::VisitState(*self.resampler, fields);
    FeatureStream::VisitState(self.features, fields);
    EncoderState::VisitState(self.encoder, fields);
    fields.Text(self.failure);
    if constexpr (Fields::kReading) {
      self.search->Restore(&fields);
      fields.Check(self.Inconsistency());
      self.UpdateResults();
    } else {
      self.search->Save(&fields);
    }
  }

  // Which restored parts contradict each other; "" if none do. Throws std::invalid_argument for
  // samples that AcceptSamples would refuse.
  std::string Inconsistency() const;

  std::shared_ptr<const Model> model;
  StreamOptions options;
  std::optional<Resampler> resampler;  // when the rate of the samples is not the model's
  FeatureStream features;
  EncoderState encoder;
  std::unique_ptr<CtcSearch> search;
  // Text of the search's first num_stable_ids ids, which no later audio changes.
  std::string stable_text;
  TextEnd stable_end;
  size_t num_stable_ids = 0;
  std::string failure;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_STREAM_STATE_H_
