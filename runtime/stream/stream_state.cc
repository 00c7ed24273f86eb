#include "runtime/stream/stream_state.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/model/model_parts.h"
#include "runtime/text/utf8.h"

namespace runnel {
namespace {

// Upper bound of the resampling filter's gain. The magnitudes of its taps add up to about 5.
constexpr float kMaxGain = 16.0F;

StreamOptions ResolveOptions(const Model& model, StreamOptions options) {
  const ModelConfig& config = model.parts().config;
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

Stream::State::State(std::shared_ptr<const Model> shared_model, const StreamOptions& stream_options)
    : model(std::move(shared_model)),
      options(ResolveOptions(NotNull(model), stream_options)),
      resampler(MakeResampler(options.sample_rate_hz, model->sample_rate_hz())),
      features(model->parts().frame_extractor, model->parts().config.features.sample_scale),
      encoder(model->parts().encoder.InitialState()),
      search(MakeCtcSearch(options.search, model->parts().config.ctc.vocab_size,
                           model->parts().config.ctc.blank_id)) {}

Stream::State::State(const State& other)
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

int64_t Stream::State::num_samples() const {
  return resampler ? resampler->num_in() : features.samples_accepted();
}

void Stream::State::AcceptSamples(const float* samples, size_t count) {
  if (!resampler) {
    features.AcceptSamples(samples, count);
    return;
  }
  features.CheckSamples(samples, count, num_samples(), kMaxGain);
  std::vector<float> resampled;
  resampler->Process(samples, count, &resampled);
  features.AcceptSamples(resampled.data(), resampled.size());
}

void Stream::State::Finish() {
  if (resampler && !features.finished()) {
    std::vector<float> resampled;
    resampler->Flush(&resampled);
    features.AcceptSamples(resampled.data(), resampled.size());
  }
  features.Finish();
  UpdateResults();
}

int64_t Stream::State::MinSamplesToChunk() const {
  if (!failure.empty() || features.finished() || NextChunk() ||
      options.chunk_size == StreamOptions::kWholeUtterance) {
    return 0;
  }
  const int64_t num_frames =
      features.frames_popped() + model->parts().encoder.FramesForChunk(encoder, options.chunk_size);
  int64_t needed = features.extractor().SamplesForFrames(num_frames);
  if (resampler) needed = resampler->MinInputFor(needed);
  return std::max<int64_t>(1, needed - num_samples());
}

std::optional<EncoderChunk> Stream::State::NextChunk() const {
  if (!failure.empty()) return std::nullopt;
  return model->parts().encoder.NextChunk(encoder, options.chunk_size, features.NumFramesReady(),
                                          features.finished());
}

bool Stream::State::IsFinal() const {
  return features.finished() && failure.empty() && !NextChunk().has_value();
}

void Stream::State::Search(const float* log_probs, int64_t num_rows) {
  try {
    search->Advance(log_probs, num_rows);
    UpdateResults();
  } catch (const std::invalid_argument& error) {  // not the caller's fault
    failure = "model " + model->name() + " gives no probabilities for this audio: " + error.what();
  }
}

void Stream::State::UpdateResults() {
  const bool is_final = IsFinal();
  if (is_final) search->Finish();
  const std::vector<int32_t>& ids = search->BestIds();
  const size_t num_stable = is_final ? ids.size() : search->NumStableIds();
  for (; num_stable_ids < num_stable; ++num_stable_ids) {
    model->tokens().AppendText(ids[num_stable_ids], &stable_end, &stable_text);
  }
}

void Stream::State::Reset() {
  resampler = MakeResampler(options.sample_rate_hz, model->sample_rate_hz());
  features.Reset();
  encoder = model->parts().encoder.InitialState();
  search->Reset();
  stable_text.clear();
  stable_end = TextEnd();
  num_stable_ids = 0;
  failure.clear();
}

std::vector<Token> Stream::State::InMilliseconds(const std::vector<TokenSpan>& spans) const {
  const double frame_ms = model->encoder_frame_ms();
  std::vector<Token> tokens;
  for (const TokenSpan& span : spans) {
    tokens.push_back({span.id, static_cast<double>(span.first_frame) * frame_ms,
                      static_cast<double>(span.last_frame + 1) * frame_ms, span.confidence});
  }
  return tokens;
}

Hypothesis Stream::State::MakeHypothesis(const TokenSequence& sequence) const {
  Hypothesis hypothesis;
  hypothesis.score = sequence.score;
  std::vector<int32_t> ids;
  for (const TokenSpan& span : sequence.tokens) ids.push_back(span.id);
  hypothesis.tokens = InMilliseconds(sequence.tokens);
  hypothesis.text = model->tokens().Text(ids);
  hypothesis.words = model->tokens().Words(hypothesis.tokens);
  return hypothesis;
}

std::string Stream::State::Inconsistency() const {
  const auto differ = [](const char* what, int64_t found, int64_t expected) {
    return std::string(what) + " is " + std::to_string(found) + "; expected " +
           std::to_string(expected);
  };
  if (!IsUtf8(failure)) return "the reason of its failure is not UTF-8";
  if (resampler) {
    if (features.samples_accepted() != resampler->num_out()) {
      return differ("number of resampled samples", features.samples_accepted(),
                    resampler->num_out());
    }
    if (features.finished() != resampler->flushed()) {
      return "the resampler and the features differ in whether the audio has ended";
    }
    if (!features.finished()) {
      const std::vector<float>& held = resampler->held();
      features.CheckSamples(held.data(), held.size(), 0, kMaxGain);
    }
  }
  if (features.frames_popped() != encoder.num_frames) {
    return differ("number of feature frames in the encoder", encoder.num_frames,
                  features.frames_popped());
  }
  if (encoder.ended && !(features.finished() && features.NumFramesReady() == 0)) {
    return "the encoder has ended before the audio";
  }
  std::string problem =
      model->parts().encoder.Inconsistency(encoder, options.left_context, failure.empty());
  if (!problem.empty()) return problem;
  const int64_t searched = search->num_frames();
  if (searched > encoder.offset || (searched < encoder.offset && failure.empty())) {
    return differ("number of encoder frames in the search", searched, encoder.offset);
  }
  return "";
}

}  // namespace runnel
