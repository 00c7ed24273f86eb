#include "runtime/stream/stream_state.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/model/model_parts.h"
#include "runtime/text/utf8.h"

namespace runnel {
namespace {

const Model& NotNull(const std::shared_ptr<const Model>& model) {
  if (model == nullptr) throw std::invalid_argument("a Stream was given no model");
  return *model;
}

// What is wrong with the frames of a restored input and encoder; "" if nothing is.
std::string FramesProblem(const FrameInput& input, const EncoderState& encoder,
                          const EndpointOptions& endpoints) {
  const FeatureStream& features = input.features();
  const int64_t num_passed = features.frames_popped() - input.num_frames_kept();
  if (input.skips_silence() ? num_passed < encoder.num_frames : num_passed != encoder.num_frames) {
    return "number of feature frames in the encoder is " + std::to_string(encoder.num_frames) +
           "; expected " + std::to_string(num_passed);
  }
  if (input.num_frames_kept() > 0 && !endpoints.skip_silence) {
    return "feature frames wait for speech";
  }
  if (encoder.ended && !(features.finished() && features.NumFramesReady() == 0)) {
    return "the encoder has ended before the audio";
  }
  return "";
}

// FinalizeUtterance searches frames in a copy, before this stream's encoder computes them: fewer
// than the audio has, with some more for what is padded at the end of the audio.
std::string SearchProblem(const Stream::State& state) {
  constexpr int64_t kMostPadded = 64;
  const Model& model = *state.model;
  const double frame_samples = model.encoder_frame_ms() / 1000 * state.options.sample_rate_hz;
  const int64_t given =
      state.input.features().frames_accepted() / model.parts().encoder.subsampling().rate();
  const int64_t most = std::max(
      given, static_cast<int64_t>(static_cast<double>(state.input.num_samples()) / frame_samples));
  const int64_t searched = state.head.search().num_frames();
  const int64_t encoded = state.encoder.offset;
  if (std::max(searched, state.utterances.last_end_frame()) <=
          std::max(encoded, most + kMostPadded) &&
      (searched >= encoded || !state.failure.empty())) {
    return "";
  }
  return "number of encoder frames in the search is " + std::to_string(searched) +
         "; expected about " + std::to_string(encoded);
}

}  // namespace

Stream::State::State(std::shared_ptr<const Model> shared_model, const StreamOptions& stream_options)
    : model(std::move(shared_model)),
      options(ResolveOptions(NotNull(model), stream_options)),
      input(*model, options),
      encoder(model->parts().encoder.InitialState()),
      head(*model, options),
      utterances(*model, options) {}

std::optional<EncoderChunk> Stream::State::NextChunk() const {
  if (!failure.empty() || input.skips_silence()) return std::nullopt;
  const Encoder& computing = model->parts().encoder;
  const int64_t num_ready = input.NumFramesReady();
  const int64_t right_context = options.right_context;
  const bool is_window = right_context != StreamOptions::kNoRightContext;
  if (!is_window || !input.is_preview() || input.features().finished()) {
    return computing.NextChunk(encoder, options.chunk_size, num_ready, input.has_ended(),
                               right_context);
  }
  // A preview takes one step: its last window has all frames that lack right context.
  const int64_t most = options.chunk_size + right_context + EarlyTextOptions::kMaxPadding;
  if (computing.NumComplete(encoder, num_ready) <= most) {
    return computing.NextChunk(encoder, StreamOptions::kWholeUtterance, num_ready, true,
                               right_context);
  }
  return computing.NextChunk(encoder, options.chunk_size, num_ready, false, right_context);
}

bool Stream::State::IsFinal() const {
  return input.has_ended() && failure.empty() && !NextChunk().has_value();
}

void Stream::State::PassSilence() {
  const std::optional<int64_t> first_kept = input.FindSpeech();
  if (!first_kept || *first_kept == encoder.num_frames) return;  // nothing was dropped
  const Encoder& model_encoder = model->parts().encoder;
  int64_t offset = encoder.offset;
  while (model_encoder.FirstRead(offset) < *first_kept) ++offset;
  input.DropKept(model_encoder.FirstRead(offset) - *first_kept);
  model_encoder.SkipTo(offset, &encoder);
  // FinalizeUtterance may have searched frames after these.
  if (head.search().num_frames() < offset) utterances.Begin(offset, &head);
}

void Stream::State::UpdateResults() {
  if (input.has_ended()) utterances.EndAudio(input.duration_ms());
  if (IsFinal()) utterances.EndLast(&head);
  utterances.Update(head.search());
  if (HasWholeText()) utterances.FinishText();
}

bool Stream::State::HasWholeText() const { return utterances.are_over() && !input.is_preview(); }

std::string Stream::State::Inconsistency() const {
  if (!IsUtf8(failure)) return "the reason of its failure is not UTF-8";
  std::string problem = input.Inconsistency();
  if (problem.empty()) problem = FramesProblem(input, encoder, options.endpoints);
  if (problem.empty()) {
    problem =
        model->parts().encoder.Inconsistency(encoder, options.left_context, options.right_context,
                                             options.cached_windows, failure.empty());
  }
  if (problem.empty()) problem = SearchProblem(*this);
  if (problem.empty() && !head.RowsAreConsistent(encoder.offset)) {
    problem = "the encoder frames kept for rescoring do not end with the last one";
  }
  if (problem.empty()) problem = utterances.Inconsistency(head);
  if (problem.empty() && utterances.are_over() && !IsFinal()) {
    problem = "its last utterance has ended before the audio";
  }
  return problem;
}

}  // namespace runnel
