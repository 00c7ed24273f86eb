// Audio of a stream, its chunks, and what ends its utterances.
#include "runtime/stream.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "encoder/encoder.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream/stream_state.h"

namespace runnel {

Stream::Stream(std::shared_ptr<const Model> model, const StreamOptions& options)
    : state_(std::make_unique<State>(std::move(model), options)) {}
Stream::~Stream() = default;
Stream::Stream(const Stream& other) : state_(std::make_unique<State>(*other.state_)) {}
Stream& Stream::operator=(const Stream& other) {
  if (this != &other) state_ = std::make_unique<State>(*other.state_);
  return *this;
}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;

void Stream::AcceptSamples(const float* samples, size_t num_samples) {
  state_->input.AcceptSamples(samples, num_samples);
  state_->PassSilence();
}

void Stream::AcceptFeatures(const float* frames, size_t num_frames) {
  state_->input.AcceptFeatures(frames, num_frames);
  state_->PassSilence();
}

void Stream::Finish() {
  if (state_->input.is_preview()) return;  // its audio has ended
  state_->input.Finish();
  state_->PassSilence();
  state_->UpdateResults();
  Rescore({state_.get()});
}

bool Stream::finished() const { return state_->input.has_ended(); }

bool Stream::ChunkReady() const { return state_->NextChunk().has_value(); }

int64_t Stream::MinSamplesToChunk() const {
  return ChunkReady() || options().chunk_size == StreamOptions::kWholeUtterance
             ? 0
             : MinSamplesTo(options().chunk_size + std::max<int64_t>(0, options().right_context));
}

int64_t Stream::num_waiting_frames() const {
  const FrameInput& input = state_->input;
  if (!failure().empty() || input.skips_silence()) return 0;
  return model().parts().encoder.NumComplete(state_->encoder, input.NumFramesReady());
}

int64_t Stream::MinSamplesTo(int64_t count) const {
  if (!failure().empty() || finished() || num_waiting_frames() >= count) return 0;
  const FrameInput& input = state_->input;
  const EncoderState& state = state_->encoder;
  const Encoder& encoder = model().parts().encoder;
  // While silence is skipped, as many frames are looked at.
  return input.MinSamplesTo(input.skips_silence()
                                ? input.features().frames_popped() +
                                      count * encoder.subsampling().rate()
                                : state.num_frames + encoder.FramesForChunk(state, count));
}

void Stream::Decode() {
  while (DecodeChunks({this}) > 0) {
  }
  if (!failure().empty()) throw std::runtime_error(failure());
}

void Stream::FinalizeUtterance() {
  Decode();
  if (IsFinal()) return;
  Stream finished = *this;
  finished.Finish();
  FinalizeUtterance(std::move(finished));
}

void Stream::FinalizeUtterance(Stream finished) {
  finished.Decode();
  if (IsFinal()) return;
  State& after = *finished.state_;
  const TokenTimes times(model(), options().search.head);
  const int64_t num_frames = model().parts().encoder.subsampling().NumEncoderFrames(
      after.input.features().frames_popped() + after.input.features().NumFramesReady());
  if (state_->utterances.BeginAfter(&after.utterances, &after.head, num_frames, times,
                                    &state_->head) &&
      options().endpoints.reset_encoder) {
    model().parts().encoder.ForgetContext(&state_->encoder);
  }
}

Stream Stream::Preview(int64_t num_padding) const {
  if (num_padding < 0) {
    throw std::invalid_argument("num_padding is " + std::to_string(num_padding) +
                                ", expected 0 or more");
  }
  const Encoder& encoder = model().parts().encoder;
  Stream preview = *this;
  State& state = *preview.state_;
  // After Finish the audio ends already, as Finish pads it.
  const int64_t num_frames = finished() ? 0 : num_padding * encoder.subsampling().rate();
  state.input.EndWithPadding(encoder.MeanFrame(state.encoder), num_frames);
  state.options.endpoints.enabled = false;
  state.utterances.DisableRules();
  state.head.DisableRescoring();
  state.UpdateResults();
  return preview;
}

const std::string& Stream::failure() const { return state_->failure; }

bool Stream::IsFinal() const { return state_->IsFinal(); }

void Stream::Reset() { state_ = std::make_unique<State>(state_->model, state_->options); }

const Model& Stream::model() const { return *state_->model; }
const StreamOptions& Stream::options() const { return state_->options; }
int64_t Stream::num_samples() const { return state_->input.num_samples(); }
int64_t Stream::num_encoder_frames() const { return state_->encoder.offset; }

}  // namespace runnel
