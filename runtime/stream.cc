#include "runtime/stream.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "encoder/encoder.h"
#include "frontend/feature_stream.h"
#include "frontend/resampler.h"
#include "runtime/ctc_head.h"

namespace runnel {
namespace {

// What the resampling filter amplifies a sample by at most: the sum of the magnitudes of its taps,
// some 5, and room.
constexpr float kMaxGain = 16.0F;

StreamOptions ResolveOptions(const Model& model, StreamOptions options) {
  const ModelConfig& config = model.config();
  if (options.chunk_size == StreamOptions::kModelDefault) {
    options.chunk_size = config.streaming.chunk_size;
  }
  if (options.left_context == StreamOptions::kModelDefault) {
    options.left_context = config.streaming.left_context;
  }
  CheckStreaming(config, {options.chunk_size, options.left_context});
  options.search.Validate();
  if (options.sample_rate_hz == StreamOptions::kModelRate) {
    options.sample_rate_hz = model.sample_rate_hz();
  } else if (options.sample_rate_hz < StreamOptions::kMinRate ||
             options.sample_rate_hz > StreamOptions::kMaxRate) {
    throw std::invalid_argument("sample_rate_hz is " + std::to_string(options.sample_rate_hz) +
                                ", expected " + std::to_string(StreamOptions::kMinRate) + " to " +
                                std::to_string(StreamOptions::kMaxRate) +
                                " or 0 (the model's rate)");
  }
  return options;
}

const Model& NotNull(const std::shared_ptr<const Model>& model) {
  if (model == nullptr) throw std::invalid_argument("a Stream was given no model");
  return *model;
}

std::optional<Resampler> MakeResampler(int in_rate_hz, int out_rate_hz) {
  if (in_rate_hz == out_rate_hz) return std::nullopt;
  return Resampler(in_rate_hz, out_rate_hz);
}

}  // namespace

struct Stream::State {
  State(std::shared_ptr<const Model> shared_model, const StreamOptions& stream_options)
      : model(std::move(shared_model)),
        options(ResolveOptions(NotNull(model), stream_options)),
        resampler(MakeResampler(options.sample_rate_hz, model->sample_rate_hz())),
        features(model->frame_extractor(), model->config().features.sample_scale),
        encoder(model->encoder().InitialState(options.left_context)),
        search(MakeCtcSearch(options.search, model->config().ctc.vocab_size,
                             model->config().ctc.blank_id)) {}

  State(const State& other)
      : model(other.model),
        options(other.options),
        resampler(other.resampler),
        features(other.features),
        encoder(other.encoder),
        search(other.search->Clone()),
        stable_text(other.stable_text),
        stable_end(other.stable_end),
        num_stable_ids(other.num_stable_ids),
        failure(other.failure) {}

  int64_t num_samples() const {
    return resampler ? resampler->num_in() : features.samples_accepted();
  }

  void AcceptSamples(const float* samples, size_t num_samples_new) {
    if (!resampler) {
      features.AcceptSamples(samples, num_samples_new);
      return;
    }
    features.CheckSamples(samples, num_samples_new, num_samples(), kMaxGain);
    std::vector<float> resampled;
    resampler->Process(samples, num_samples_new, &resampled);
    features.AcceptSamples(resampled.data(), resampled.size());
  }

  void Finish() {
    if (resampler && !features.finished()) {
      std::vector<float> resampled;
      resampler->Flush(&resampled);
      features.AcceptSamples(resampled.data(), resampled.size());
    }
    features.Finish();
    UpdateResults();
  }

  int64_t MinSamplesToChunk() const {
    if (!failure.empty() || features.finished() || NextChunk() ||
        options.chunk_size == StreamOptions::kWholeUtterance) {
      return 0;
    }
    const int64_t num_frames =
        features.frames_popped() + model->encoder().FramesForChunk(encoder, options.chunk_size);
    int64_t needed = features.extractor().SamplesForFrames(num_frames);
    if (resampler) needed = resampler->MinInputFor(needed);
    return std::max<int64_t>(1, needed - num_samples());
  }

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
    resampler = MakeResampler(options.sample_rate_hz, model->sample_rate_hz());
    features.Reset();
    encoder = model->encoder().InitialState(options.left_context);
    search->Reset();
    stable_text.clear();
    stable_end = TextEnd();
    num_stable_ids = 0;
    failure.clear();
  }

  std::vector<Token> InMilliseconds(const std::vector<TokenSpan>& spans) const {
    const double frame_ms = model->encoder_frame_ms();
    std::vector<Token> tokens;
    for (const TokenSpan& span : spans) {
      tokens.push_back({span.id, static_cast<double>(span.first_frame) * frame_ms,
                        static_cast<double>(span.last_frame + 1) * frame_ms, span.confidence});
    }
    return tokens;
  }

  Hypothesis MakeHypothesis(const TokenSequence& sequence) const {
    Hypothesis hypothesis;
    hypothesis.score = sequence.score;
    std::vector<int32_t> ids;
    for (const TokenSpan& span : sequence.tokens) ids.push_back(span.id);
    hypothesis.tokens = InMilliseconds(sequence.tokens);
    hypothesis.text = model->tokens().Text(ids);
    hypothesis.words = model->tokens().Words(hypothesis.tokens);
    return hypothesis;
  }

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

void Stream::Finish() { state_->Finish(); }

bool Stream::finished() const { return state_->features.finished(); }

bool Stream::ChunkReady() const { return state_->NextChunk().has_value(); }

int64_t Stream::MinSamplesToChunk() const { return state_->MinSamplesToChunk(); }

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

size_t Stream::NumStableTokens() const { return state_->num_stable_ids; }

std::vector<Token> Stream::TokensSince(size_t first) const {
  if (first > NumStableTokens()) {
    throw std::invalid_argument("TokensSince: first is " + std::to_string(first) +
                                ", expected at most NumStableTokens(), " +
                                std::to_string(NumStableTokens()));
  }
  return state_->InMilliseconds(state_->search->BestTokensSince(first));
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
int64_t Stream::num_samples() const { return state_->num_samples(); }
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
