// The state of a stream as one value that can be copied and saved, and what a step does with the
// states of many streams.
//
// This folder implements Stream: decoding in batches, snapshots.
#ifndef RUNNEL_RUNTIME_STREAM_STREAM_STATE_H_
#define RUNNEL_RUNTIME_STREAM_STREAM_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encoder/encoder.h"
#include "runtime/model.h"
#include "runtime/stream.h"
#include "runtime/stream/frame_input.h"
#include "runtime/stream/head_decoding.h"
#include "runtime/stream/utterances.h"

namespace runnel {

// Samples become feature frames (`input`), encoder frames (`encoder`), tokens (`head`) and
// utterances.
struct Stream::State {
  State(std::shared_ptr<const Model> shared_model, const StreamOptions& stream_options);

  // The feature frames of the next chunk; none when it is not complete, and after a failure.
  std::optional<EncoderChunk> NextChunk() const;
  // Whether every frame of the whole audio is decoded.
  bool IsFinal() const;

  // While silence is skipped: goes on where speech begins. Call it after more audio and when
  // silence begins.
  void PassSilence();

  // Ends the last utterance when the stream is final, and updates the stable text. Call it after
  // every step that may make the stream final or advance the search.
  void UpdateResults();
  // Whether nothing follows the text of the search. It does in a preview.
  bool HasWholeText() const;

  // Everything but the model and the options, for a snapshot (runtime/snapshot/state_fields.h). A
  // State to read into is made with the same model and options.
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    FrameInput::VisitState(self.input, fields);
    EncoderState::VisitState(self.encoder, fields);
    fields.Text(self.failure);
    Utterances::VisitState(self.utterances, fields);
    HeadDecoding::VisitState(self.head, fields);
    if constexpr (Fields::kReading) {
      fields.Check(self.Inconsistency());
      self.UpdateResults();
    }
  }

  // Which restored parts contradict each other; "" if none do. Throws std::invalid_argument for
  // samples that AcceptSamples would refuse.
  std::string Inconsistency() const;

  std::shared_ptr<const Model> model;
  StreamOptions options;
  FrameInput input;
  EncoderState encoder;
  HeadDecoding head;
  Utterances utterances;
  std::string failure;  // Stream::failure
};

// The options of a stream as the model serves them: replaces defaults by what it recommends. Throws
// std::invalid_argument naming an option that is out of range or not permitted by the model.
StreamOptions ResolveOptions(const Model& model, StreamOptions options);

// A stream, and the encoder frames that a step has just computed for it.
struct ComputedFrames {
  Stream::State* state;
  ConstRows rows;  // after the language prompt, if the model has one
};

// Searches these frames, in one batch for each head, and ends utterances (search_frames.cc). All
// streams are of one model. Sets `failure` of a stream whose probabilities are not finite.
void SearchFrames(const std::vector<ComputedFrames>& streams);

// Scores the utterances that have ended since the last call, of streams of one model, with its
// attention decoder, all in one batch (rescoring.cc). Does nothing for streams without rescoring.
void Rescore(const std::vector<Stream::State*>& streams);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_STREAM_STATE_H_
