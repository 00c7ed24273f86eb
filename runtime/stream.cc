#include "runtime/stream.h"

#include <ATen/core/Tensor.h>

#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "encoder/encoder.h"
#include "frontend/feature_stream.h"
#include "runtime/ctc_head.h"

namespace runnel {
namespace {

StreamOptions ResolveOptions(const ModelConfig& config, StreamOptions options) {
  if (options.chunk_size == StreamOptions::kModelDefault) {
    options.chunk_size = config.streaming.chunk_size;
  }
  if (options.left_context == StreamOptions::kModelDefault) {
    options.left_context = config.streaming.left_context;
  }
  CheckStreaming(config, {options.chunk_size, options.left_context});
  options.search.Validate();
  return options;
}

const Model& NotNull(const std::shared_ptr<const Model>& model) {
  if (model == nullptr) throw std::invalid_argument("a Stream was given no model");
  return *model;
}

}  // namespace

struct Stream::State {
  State(std::shared_ptr<const Model> shared_model, const StreamOptions& stream_options)
      : model(std::move(shared_model)),
        options(ResolveOptions(NotNull(model).config(), stream_options)),
        features(model->frame_extractor(), model->config().features.sample_scale),
        encoder(model->encoder().InitialState(options.left_context)),
        search(MakeCtcSearch(options.search, model->config().ctc.vocab_size,
                             model->config().ctc.blank_id)) {}

  State(const State& other)
      : model(other.model),
        options(other.options),
        features(other.features),
        encoder(other.encoder),
        search(other.search->Clone()),
        stable_text(other.stable_text),
        stable_end(other.stable_end),
        num_stable_ids(other.num_stable_ids),
        failure(other.failure) {}

  std::optional<EncoderChunk> NextChunk() const {
    if (!failure.empty()) return std::nullopt;
    return model->encoder().NextChunk(encoder, options.chunk_size, features.NumFramesReady(),
                                      features.finished());
  }

  bool IsFinal() const {
    return features.finished() && failure.empty() && !NextChunk().has_value();
  }

  // To be called after everything that may make the stream final or advance the search.
  void UpdateResults() {
    const bool is_final = IsFinal();
    if (is_final) search->Finish();
    const std::vector<int32_t>& ids = search->BestIds();
    const size_t num_stable = is_final ? ids.size() : search->NumStableIds();
    for (; num_stable_ids < num_stable; ++num_stable_ids) {
      model->tokens().AppendText(ids[num_stable_ids], &stable_end, &stable_text);
    }
  }

  void Reset() {
    features.Reset();
    encoder = model->encoder().InitialState(options.left_context);
    search->Reset();
    stable_text.clear();
    stable_end = TextEnd();
    num_stable_ids = 0;
    failure.clear();
  }

  Hypothesis MakeHypothesis(const TokenSequence& sequence) const {
    const double frame_ms = model->encoder_frame_ms();
    Hypothesis hypothesis;
    hypothesis.score = sequence.score;
    std::vector<int32_t> ids;
    for (const TokenSpan& span : sequence.tokens) {
      ids.push_back(span.id);
      hypothesis.tokens.push_back({span.id, static_cast<double>(span.first_frame) * frame_ms,
                                   static_cast<double>(span.last_frame + 1) * frame_ms,
                                   span.confidence});
    }
    hypothesis.text = model->tokens().Text(ids);
    hypothesis.words = model->tokens().Words(hypothesis.tokens);
    return hypothesis;
  }

  std::shared_ptr<const Model> model;
  StreamOptions options;
  FeatureStream features;
  EncoderState encoder;
  std::unique_ptr<CtcSearch> search;
  // Text of the search's first num_stable_ids ids, which no audio to come changes.
  std::string stable_text;
  TextEnd stable_end;
  size_t num_stable_ids = 0;
  std::string failure;
};

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
  state_->features.AcceptSamples(samples, num_samples);
}

void Stream::Finish() {
  state_->features.Finish();
  state_->UpdateResults();
}

bool Stream::ChunkReady() const { return state_->NextChunk().has_value(); }

void Stream::Decode() {
  while (DecodeChunks({this}) > 0) {
  }
  if (!state_->failure.empty()) throw std::runtime_error(state_->failure);
}

const std::string& Stream::failure() const { return state_->failure; }

bool Stream::IsFinal() const { return state_->IsFinal(); }

std::string Stream::Text() const { return state_->model->tokens().Text(state_->search->BestIds()); }

size_t Stream::StableTextSize() const { return state_->stable_text.size(); }

std::string Stream::TextSince(size_t position) const {
  if (position > StableTextSize()) {
    throw std::invalid_argument("TextSince: position is " + std::to_string(position) +
                                ", expected at most StableTextSize(), " +
                                std::to_string(StableTextSize()));
  }
  std::string text = state_->stable_text.substr(position);
  const std::vector<int32_t>& ids = state_->search->BestIds();
  TextEnd end = state_->stable_end;
  for (size_t i = state_->num_stable_ids; i < ids.size(); ++i) {
    state_->model->tokens().AppendText(ids[i], &end, &text);
  }
  return text;
}

std::vector<Hypothesis> Stream::NBest(int n) const {
  std::vector<Hypothesis> hypotheses;
  for (const TokenSequence& sequence : state_->search->NBest(n)) {
    hypotheses.push_back(state_->MakeHypothesis(sequence));
  }
  return hypotheses;
}

Hypothesis Stream::Best() const { return NBest(1).front(); }

void Stream::Reset() { state_->Reset(); }

const Model& Stream::model() const { return *state_->model; }
const StreamOptions& Stream::options() const { return state_->options; }
int64_t Stream::num_samples() const { return state_->features.samples_accepted(); }
int64_t Stream::num_encoder_frames() const { return state_->encoder.offset; }

size_t DecodeChunks(const std::vector<Stream*>& streams) {
  std::vector<Stream::State*> ready;
  std::set<const Stream*> distinct;
  for (Stream* stream : streams) {
    if (!distinct.insert(stream).second) {
      throw std::invalid_argument("DecodeChunks was given one stream twice");
    }
    if (stream->state_->model != streams.front()->state_->model) {
      throw std::invalid_argument("DecodeChunks was given streams of different models");
    }
    if (stream->ChunkReady()) ready.push_back(stream->state_.get());
  }
  if (ready.empty()) return 0;

  const Model& model = *ready.front()->model;
  std::vector<std::vector<float>> features(ready.size());
  std::vector<EncoderSegment> segments;
  for (size_t i = 0; i < ready.size(); ++i) {
    const EncoderChunk chunk = *ready[i]->NextChunk();
    features[i].resize(static_cast<size_t>(chunk.num_frames * ready[i]->features.dim()));
    ready[i]->features.PopFrames(static_cast<size_t>(chunk.num_frames), features[i].data());
    segments.push_back({&ready[i]->encoder, features[i].data(), chunk});
  }

  const EncoderOutput output = model.encoder().Step(segments);
  const at::Tensor log_probs = model.ctc_head().LogProbs(output.rows).to(at::kFloat).contiguous();
  const float* rows = log_probs.data_ptr<float>();
  for (size_t i = 0; i < ready.size(); ++i) {
    try {
      ready[i]->search->Advance(rows, output.num_rows[i]);
      ready[i]->UpdateResults();
    } catch (const std::invalid_argument& error) {  // not the caller's fault
      ready[i]->failure = "model " + model.config().name +
                          " gives no probabilities for this audio: " + error.what();
    }
    rows += output.num_rows[i] * log_probs.size(1);
  }
  return ready.size();
}

}  // namespace runnel
