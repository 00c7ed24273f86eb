// All that a stream remembers, one value. Internal to the runtime.
// Flow: packets -> frontend -> encoder -> runtime (this, below stream) -> tools.
#ifndef RUNNEL_RUNTIME_STREAM_STATE_H_
#define RUNNEL_RUNTIME_STREAM_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encoder/encoder.h"
#include "frontend/feature_stream.h"
#include "frontend/resampler.h"
#include "runtime/ctc_search.h"
#include "runtime/model.h"
#include "runtime/result.h"
#include "runtime/state_fields.h"
#include "runtime/stream.h"
#include "runtime/token_table.h"

namespace runnel {

// The functions do what those of Stream do that have their names.
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

  // Takes (num_rows, vocab_size) log probabilities of the frames that the encoder has just
  // computed; sets `failure` where they are none.
  void Search(const float* log_probs, int64_t num_rows);

  // To be called after everything that may make the stream final or advance the search.
  void UpdateResults();

  std::vector<Token> InMilliseconds(const std::vector<TokenSpan>& spans) const;
  Hypothesis MakeHypothesis(const TokenSequence& sequence) const;

  // All but model and options, which a State that is read into was made with, for a snapshot
  // (state_fields.h).
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

  // Where parts that were restored do not go together, or null. Throws std::invalid_argument for
  // samples that AcceptSamples would refuse.
  const char* Inconsistency() const;

  std::shared_ptr<const Model> model;
  StreamOptions options;
  std::optional<Resampler> resampler;  // where the samples' rate is not the model's
  FeatureStream features;
  EncoderState encoder;
  std::unique_ptr<CtcSearch> search;
  // Text of the search's first num_stable_ids ids, which no audio to come changes.
  std::string stable_text;
  TextEnd stable_end;
  size_t num_stable_ids = 0;
  std::string failure;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_STATE_H_
