#include "runtime/stream/stream_state.h"

#include <algorithm>
#include <cmath>
#include <set>
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
  options.endpoints.Validate();
  if (options.nbest < 1 || options.nbest > StreamOptions::kMaxNBest) {
    throw std::invalid_argument("nbest is " + std::to_string(options.nbest) + ", expected 1 to " +
                                std::to_string(StreamOptions::kMaxNBest));
  }
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
                           model->parts().config.ctc.blank_id)),
      endpoints(options.endpoints, model->encoder_frame_ms()) {}

Stream::State::State(const State& other)
    : model(other.model),
      options(other.options),
      resampler(other.resampler),
      features(other.features),
      encoder(other.encoder),
      search(other.search->Clone()),
      endpoints(other.endpoints),
      ended(other.ended),
      num_utterances(other.num_utterances),
      is_over(other.is_over),
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
  const int64_t vocab_size = model->parts().config.ctc.vocab_size;
  // An utterance that FinalizeUtterance ended may have these frames already.
  const int64_t first_frame = encoder.offset - num_rows;
  const int64_t num_passed = std::clamp<int64_t>(search->num_frames() - first_frame, 0, num_rows);
  log_probs += num_passed * vocab_size;
  const int64_t num_frames = num_rows - num_passed;
  const int64_t num_before = num_utterances;
  try {
    if (options.endpoints.enabled) {
      for (int64_t t = 0; t < num_frames; ++t) SearchFrame(log_probs + t * vocab_size);
    } else {
      search->Advance(log_probs, num_frames);
      endpoints.PassFrames(num_frames);
    }
    if (options.endpoints.reset_encoder && num_utterances > num_before) {
      model->parts().encoder.ForgetContext(&encoder);
    }
    UpdateResults();
  } catch (const std::invalid_argument& error) {  // not the caller's fault
    failure = "model " + model->name() + " gives no probabilities for this audio: " + error.what();
  }
}

void Stream::State::SearchFrame(const float* log_probs) {
  search->Advance(log_probs, 1);
  const float blank = log_probs[model->parts().config.ctc.blank_id];
  if (!endpoints.Advance(blank, !search->BestIds().empty())) return;
  EndUtterance(UtteranceEnd::kEndpoint);
  ForgetText();
  search->StartUtterance(search->num_frames());
  endpoints.StartUtterance();
}

void Stream::State::EndUtterance(UtteranceEnd end) {
  search->Finish();
  std::vector<TokenSequence> nbest = BestSequences(options.nbest);
  if (end == UtteranceEnd::kEndpoint && TextOf(nbest.front().tokens).empty()) return;
  ended.push_back({num_utterances, search->num_frames(), end, std::move(nbest)});
  ++num_utterances;
}

void Stream::State::ForgetText() {
  stable_text.clear();
  stable_end = TextEnd();
  num_stable_ids = 0;
}

void Stream::State::BeginAfter(State* copy) {
  if (copy->endpoints.num_frames() > 0) {
    copy->ended.back().end = UtteranceEnd::kFinalize;
  } else {  // the last utterance has no frame
    copy->ended.pop_back();
    --copy->num_utterances;
  }
  if (copy->num_utterances == num_utterances) return;
  ended = std::move(copy->ended);
  num_utterances = copy->num_utterances;
  search->StartUtterance(copy->search->num_frames());
  endpoints.StartUtterance();
  ForgetText();
  if (options.endpoints.reset_encoder) model->parts().encoder.ForgetContext(&encoder);
}

void Stream::State::UpdateResults() {
  if (IsFinal() && !is_over) {
    EndUtterance(UtteranceEnd::kFinish);
    is_over = true;
  }
  const std::vector<int32_t>& ids = search->BestIds();
  const size_t num_stable = is_over ? ids.size() : search->NumStableIds();
  for (; num_stable_ids < num_stable; ++num_stable_ids) {
    model->tokens().AppendText(ids[num_stable_ids], &stable_end, &stable_text);
  }
}

void Stream::State::Reset() {
  resampler = MakeResampler(options.sample_rate_hz, model->sample_rate_hz());
  features.Reset();
  encoder = model->parts().encoder.InitialState();
  search->Reset();
  endpoints.StartUtterance();
  ended.clear();
  num_utterances = 0;
  is_over = false;
  ForgetText();
  failure.clear();
}

std::vector<TokenSequence> Stream::State::BestSequences(int n) const {
  for (int num_wanted = n;; num_wanted *= 2) {
    std::vector<TokenSequence> sequences = search->NBest(num_wanted);
    const bool has_all = sequences.size() < static_cast<size_t>(num_wanted);
    std::vector<TokenSequence> distinct;
    std::set<std::string> texts;
    for (TokenSequence& sequence : sequences) {
      if (distinct.size() == static_cast<size_t>(n)) break;
      if (texts.insert(TextOf(sequence.tokens)).second) distinct.push_back(std::move(sequence));
    }
    if (has_all || distinct.size() == static_cast<size_t>(n)) return distinct;
  }
}

std::string Stream::State::TextOf(const std::vector<TokenSpan>& tokens) const {
  std::string text;
  TextEnd end;
  for (const TokenSpan& token : tokens) model->tokens().AppendText(token.id, &end, &text);
  return text;
}

std::vector<Utterance> Stream::State::TakeUtterances() {
  const double frame_ms = model->encoder_frame_ms();
  std::vector<Utterance> utterances;
  for (const EndedUtterance& from : ended) {
    Utterance utterance;
    utterance.index = from.index;
    utterance.end = from.end;
    utterance.searched_ms = static_cast<double>(from.end_frame) * frame_ms;
    for (const TokenSequence& sequence : from.nbest) {
      utterance.nbest.push_back(MakeHypothesis(sequence));
    }
    const std::vector<Token>& tokens = utterance.nbest.front().tokens;
    utterance.end_ms = tokens.empty() ? utterance.searched_ms : tokens.back().end_ms;
    utterance.start_ms = tokens.empty() ? utterance.end_ms : tokens.front().start_ms;
    utterances.push_back(std::move(utterance));
  }
  ended.clear();
  return utterances;
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
  hypothesis.text = TextOf(sequence.tokens);
  hypothesis.tokens = InMilliseconds(sequence.tokens);
  hypothesis.words = model->tokens().Words(hypothesis.tokens);
  for (const Word& word : hypothesis.words) hypothesis.confidence += word.confidence;
  if (!hypothesis.words.empty()) {
    hypothesis.confidence /= static_cast<float>(hypothesis.words.size());
  }
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
  return UtteranceProblem();
}

std::string Stream::State::UtteranceProblem() const {
  // FinalizeUtterance searches frames in a copy, before this stream's encoder computes them: fewer
  // than the audio has, with some more for what is padded at the end of the audio.
  constexpr int64_t kMostPadded = 64;
  const double frame_samples = model->encoder_frame_ms() / 1000 * options.sample_rate_hz;
  const auto most = static_cast<int64_t>(static_cast<double>(num_samples()) / frame_samples);
  const int64_t searched = search->num_frames();
  if (searched > std::max(encoder.offset, most + kMostPadded) ||
      (searched < encoder.offset && failure.empty())) {
    return "number of encoder frames in the search is " + std::to_string(searched) +
           "; expected about " + std::to_string(encoder.offset);
  }
  if (is_over && !IsFinal()) return "its last utterance has ended before the audio";
  if (num_utterances < static_cast<int64_t>(ended.size())) {
    return "number of its utterances is " + std::to_string(num_utterances);
  }
  const CtcConfig& ctc = model->parts().config.ctc;
  int64_t index = num_utterances - static_cast<int64_t>(ended.size());
  for (const EndedUtterance& utterance : ended) {
    if (utterance.index != index++) return "the numbers of its utterances do not ascend";
    if (utterance.end_frame < 0 || utterance.end_frame > searched) {
      return "the end of an utterance is not among the frames";
    }
    if (utterance.nbest.empty()) return "an utterance has no hypothesis";
    for (const TokenSequence& sequence : utterance.nbest) {
      if (!std::isfinite(sequence.score)) return "the score of an utterance is not finite";
      std::string problem =
          TokenProblem(sequence.tokens, utterance.end_frame, ctc.vocab_size, ctc.blank_id);
      if (!problem.empty()) return problem;
    }
  }
  return "";
}

}  // namespace runnel
