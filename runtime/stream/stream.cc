#include "runtime/stream.h"

#include <set>
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
  state_->AcceptSamples(samples, num_samples);
}

void Stream::AcceptFeatures(const float* frames, size_t num_frames) {
  state_->AcceptFeatures(frames, num_frames);
}

void Stream::Finish() { state_->Finish(); }

bool Stream::finished() const { return state_->ends(); }

bool Stream::ChunkReady() const { return state_->NextChunk().has_value(); }

int64_t Stream::MinSamplesToChunk() const {
  return ChunkReady() || options().chunk_size == StreamOptions::kWholeUtterance
             ? 0
             : MinSamplesTo(options().chunk_size);
}

int64_t Stream::num_waiting_frames() const { return state_->num_waiting_frames(); }

int64_t Stream::MinSamplesTo(int64_t count) const { return state_->MinSamplesTo(count); }

void Stream::Decode() {
  while (DecodeChunks({this}) > 0) {
  }
  if (!state_->failure.empty()) throw std::runtime_error(state_->failure);
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
  if (!IsFinal()) state_->BeginAfter(finished.state_.get());
}

Stream Stream::Preview(int64_t num_padding) const {
  if (num_padding < 0) {
    throw std::invalid_argument("num_padding is " + std::to_string(num_padding) +
                                ", expected 0 or more");
  }
  Stream preview = *this;
  // After Finish the audio ends already, as Finish pads it.
  const int64_t num_frames = finished() ? 0 : num_padding;
  preview.state_->EndWithPadding(num_frames * model().parts().encoder.subsampling().rate());
  return preview;
}

std::vector<Utterance> Stream::TakeUtterances() { return state_->TakeUtterances(); }

int64_t Stream::utterance_index() const { return state_->utterance_index(); }

int64_t Stream::text_begin() const { return state_->text_begin(); }

int64_t Stream::first_utterance() const {
  return state_->num_utterances - static_cast<int64_t>(state_->ended.size());
}

const std::string& Stream::failure() const { return state_->failure; }

bool Stream::IsFinal() const { return state_->IsFinal(); }

std::string Stream::Text() const {
  return state_->model->tokens().Text(state_->search().BestIds());
}

bool Stream::BeginsWord() const {
  return state_->model->tokens().BeginsWord(state_->search().BestIds());
}

size_t Stream::StableTextSize() const { return state_->stable_text.size(); }

std::string Stream::TextSince(size_t position) const {
  if (position > StableTextSize()) {
    throw std::invalid_argument("TextSince: position is " + std::to_string(position) +
                                ", expected at most StableTextSize(), " +
                                std::to_string(StableTextSize()));
  }
  std::string text = state_->stable_text.substr(position);
  const std::vector<int32_t>& ids = state_->search().BestIds();
  TextEnd end = state_->stable_end;
  for (size_t i = state_->num_stable_ids; i < ids.size(); ++i) {
    state_->model->tokens().AppendText(ids[i], &end, &text);
  }
  return text;
}

size_t Stream::NumStableTokens() const { return state_->num_stable_ids; }

std::vector<Token> Stream::TokensSince(size_t first) const {
  if (first > NumStableTokens()) {
    throw std::invalid_argument("TokensSince: first is " + std::to_string(first) +
                                ", expected at most NumStableTokens(), " +
                                std::to_string(NumStableTokens()));
  }
  return state_->BestTokensSince(first);
}

std::vector<Hypothesis> Stream::NBest(int n) const {
  std::vector<Hypothesis> hypotheses;
  for (const TokenSequence& sequence : state_->BestSequences(n)) {
    hypotheses.push_back(state_->MakeHypothesis(sequence, state_->text_frames()));
  }
  return hypotheses;
}

Hypothesis Stream::Best() const { return NBest(1).front(); }

void Stream::Reset() { state_ = std::make_unique<State>(state_->model, state_->options); }

const Model& Stream::model() const { return *state_->model; }
const StreamOptions& Stream::options() const { return state_->options; }
int64_t Stream::num_samples() const { return state_->num_samples(); }
int64_t Stream::num_encoder_frames() const { return state_->encoder.offset; }

}  // namespace runnel
