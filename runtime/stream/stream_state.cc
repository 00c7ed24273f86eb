#include "runtime/stream/stream_state.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "runtime/model/model_parts.h"
#include "runtime/search/log_probs.h"
#include "runtime/stream/resolve_options.h"

namespace runnel {
namespace {

// Null for a stream of the other head.
std::unique_ptr<CtcSearch> MakeCtcSearchFor(const Model& model, const SearchOptions& options) {
  const VocabularyConfig& vocabulary = model.parts().config.vocabulary;
  return options.head == Head::kCtc
             ? MakeCtcSearch(options, vocabulary.vocab_size, vocabulary.blank_id)
             : nullptr;
}
std::unique_ptr<TransducerSearch> MakeTransducerSearchFor(const Model& model,
                                                          const SearchOptions& options) {
  return options.head == Head::kTransducer
             ? MakeTransducerSearch(options, *model.parts().transducer)
             : nullptr;
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
      gate(features.dim()),
      encoder(model->parts().encoder.InitialState()),
      ctc_search(MakeCtcSearchFor(*model, options.search)),
      transducer_search(MakeTransducerSearchFor(*model, options.search)),
      endpoints(options.endpoints, model->encoder_frame_ms()),
      kept_rows(model->parts().encoder.data_type(), model->parts().config.encoder.model_dim) {}

Stream::State::State(const State& other)
    : model(other.model),
      options(other.options),
      resampler(other.resampler),
      features(other.features),
      gate(other.gate),
      is_preview(other.is_preview),
      padding(other.padding),
      encoder(other.encoder),
      ctc_search(other.ctc_search ? other.ctc_search->Clone() : nullptr),
      transducer_search(other.transducer_search ? other.transducer_search->Clone() : nullptr),
      endpoints(other.endpoints),
      ended(other.ended),
      num_utterances(other.num_utterances),
      last_end_frame(other.last_end_frame),
      spoken_end_frame(other.spoken_end_frame),
      cut_tokens(other.cut_tokens),
      is_over(other.is_over),
      stable_text(other.stable_text),
      stable_end(other.stable_end),
      num_stable_ids(other.num_stable_ids),
      failure(other.failure),
      kept_rows(other.kept_rows),
      first_kept_row(other.first_kept_row) {}

int64_t Stream::State::num_samples() const {
  return resampler ? resampler->num_in() : features.samples_accepted();
}

void Stream::State::AcceptSamples(const float* samples, size_t count) {
  if (is_preview) throw std::invalid_argument("AcceptSamples on a preview");
  if (!resampler) {
    features.AcceptSamples(samples, count);
  } else {
    features.CheckSamples(samples, count, num_samples());
    std::vector<float> resampled;
    resampler->Process(samples, count, &resampled);
    features.AppendSamples(resampled.data(), resampled.size());
  }
  WatchForSpeech();
}

void Stream::State::AcceptFeatures(const float* frames, size_t count) {
  if (resampler) {
    throw std::invalid_argument("AcceptFeatures: the stream resamples, expected sample_rate_hz " +
                                std::to_string(model->sample_rate_hz()) + ", the model's");
  }
  features.AcceptFrames(frames, count);
  WatchForSpeech();
}

void Stream::State::Finish() {
  if (is_preview) return;  // its audio has ended
  if (resampler && !features.finished()) {
    std::vector<float> resampled;
    resampler->Flush(&resampled);
    features.AppendSamples(resampled.data(), resampled.size());
  }
  features.Finish();
  WatchForSpeech();
  UpdateResults();
  Rescore({this});
}

void Stream::State::WatchForSpeech() {
  if (!gate.is_closed()) return;
  std::vector<float> frame(static_cast<size_t>(features.dim()));
  while (gate.is_closed() && features.PopFrames(1, frame.data()) > 0) gate.Hold(frame.data());
  if (gate.is_closed()) return;
  const Encoder& model_encoder = model->parts().encoder;
  const int64_t first_held = features.frames_popped() - static_cast<int64_t>(gate.num_held());
  if (first_held == encoder.num_frames) return;  // nothing was dropped
  int64_t offset = encoder.offset;
  while (model_encoder.FirstRead(offset) < first_held) ++offset;
  gate.Take(static_cast<size_t>(model_encoder.FirstRead(offset) - first_held), nullptr);
  model_encoder.SkipTo(offset, &encoder);
  // FinalizeUtterance may have searched frames after these.
  if (search().num_frames() < offset) BeginUtterance(offset);
}

int64_t Stream::State::num_waiting_frames() const {
  if (!failure.empty() || gate.is_closed()) return 0;
  return model->parts().encoder.NumComplete(encoder, NumFramesReady());
}

int64_t Stream::State::MinSamplesTo(int64_t count) const {
  if (!failure.empty() || ends() || num_waiting_frames() >= count) return 0;
  const Encoder& model_encoder = model->parts().encoder;
  // A closed gate looks at as many frames.
  const int64_t num_frames =
      gate.is_closed() ? features.frames_popped() + count * model_encoder.subsampling().rate()
                       : encoder.num_frames + model_encoder.FramesForChunk(encoder, count);
  int64_t needed = features.extractor().SamplesForFrames(num_frames);
  if (resampler) needed = resampler->MinInputFor(needed);
  return std::max<int64_t>(1, needed - num_samples());
}

int64_t Stream::State::NumFramesReady() const {
  return static_cast<int64_t>(gate.num_held()) + features.NumFramesReady() +
         static_cast<int64_t>(padding.size()) / features.dim();
}

std::optional<EncoderChunk> Stream::State::NextChunk() const {
  if (!failure.empty() || gate.is_closed()) return std::nullopt;
  return model->parts().encoder.NextChunk(encoder, options.chunk_size, NumFramesReady(), ends());
}

std::vector<float> Stream::State::TakeFrames(int64_t num_frames) {
  const auto dim = static_cast<size_t>(features.dim());
  std::vector<float> frames(static_cast<size_t>(num_frames) * dim);
  size_t num_taken = std::min(static_cast<size_t>(num_frames), gate.num_held());
  gate.Take(num_taken, frames.data());
  const size_t num_held = num_taken;
  num_taken += features.PopFrames(static_cast<size_t>(num_frames) - num_taken,
                                  frames.data() + num_taken * dim);
  if (options.endpoints.skip_silence) {
    for (size_t t = num_held; t < num_taken; ++t) gate.Observe(frames.data() + t * dim);
  }
  const auto rest = padding.begin() + static_cast<std::ptrdiff_t>(frames.size() - num_taken * dim);
  std::copy(padding.begin(), rest, frames.begin() + static_cast<std::ptrdiff_t>(num_taken * dim));
  padding.erase(padding.begin(), rest);
  return frames;
}

void Stream::State::EndWithPadding(int64_t num_frames) {
  is_preview = true;
  options.endpoints.enabled = false;
  const std::vector<float> frame = model->parts().encoder.MeanFrame(encoder);
  for (int64_t i = 0; i < num_frames; ++i) {
    padding.insert(padding.end(), frame.begin(), frame.end());
  }
  UpdateResults();
}

bool Stream::State::IsFinal() const {
  return ends() && failure.empty() && !NextChunk().has_value();
}

// An utterance that FinalizeUtterance ended may have the first ones already.
int64_t Stream::State::NumUnsearched(int64_t num_rows) const {
  return std::clamp<int64_t>(encoder.offset - search().num_frames(), 0, num_rows);
}

void Stream::State::SearchCtc(const float* log_probs, int64_t num_rows) {
  const int64_t vocab_size = model->parts().config.vocabulary.vocab_size;
  try {
    if (const int64_t num_again = NumUnsearched(num_rows); !cut_tokens.empty() && num_again > 0) {
      PassCutTokens(log_probs + (num_rows - num_again) * vocab_size, num_again);
    }
    const int64_t num_frames = NumUnsearched(num_rows);
    log_probs += (num_rows - num_frames) * vocab_size;
    if (options.endpoints.enabled) {
      for (int64_t t = 0; t < num_frames; ++t, log_probs += vocab_size) {
        ctc_search->Advance(log_probs, 1);
        AfterFrame(log_probs[model->parts().config.vocabulary.blank_id]);
      }
    } else {
      ctc_search->Advance(log_probs, num_frames);
      endpoints.PassFrames(num_frames);
    }
    if (!ctc_search->BestIds().empty()) cut_tokens.Clear();  // this token is a new one
    AfterStep();
  } catch (const std::invalid_argument& error) {  // not the caller's fault
    Fail("CTC head, " + std::string(error.what()));
  }
}

TransducerSegment Stream::State::BeginSearch(ConstRows projected, const float* ctc_log_probs) {
  const int64_t num_frames = NumUnsearched(projected.count);
  const int64_t num_passed = projected.count - num_frames;
  TransducerSegment segment;
  segment.search = transducer_search.get();
  segment.encoder = projected.Part(num_passed, num_frames);
  if (ctc_log_probs != nullptr) {
    segment.ctc_log_probs =
        ctc_log_probs + num_passed * model->parts().config.vocabulary.vocab_size;
  }
  segment.after_frame = [this] { AfterFrame(transducer_search->blank_log_prob()); };
  return segment;
}

void Stream::State::EndSearch(const TransducerSegment& segment) {
  if (segment.error.empty()) {
    AfterStep();
  } else {
    Fail("transducer, " + segment.error);
  }
}

void Stream::State::Fail(const std::string& reason) {
  failure = "model " + model->name() + " gives no probabilities for this audio: " + reason;
}

void Stream::State::AfterFrame(float blank_log_prob) {
  if (!options.endpoints.enabled) return endpoints.PassFrames(1);
  if (!endpoints.Advance(blank_log_prob, !search().BestIds().empty())) return;
  EndUtterance(UtteranceEnd::kEndpoint);
  has_endpoint = true;
  if (endpoints.follows_silence()) return BeginUtterance(search().num_frames());
  search().ContinueAfter(search().NBest(1).front().tokens);  // the length may cut a word
  ForgetUtterance();
}

void Stream::State::AfterStep() {
  if (has_endpoint) OnEndpoints();
  has_endpoint = false;
  UpdateResults();
}

void Stream::State::OnEndpoints() {
  if (options.endpoints.reset_encoder) model->parts().encoder.ForgetContext(&encoder);
  // Tokens that the search has found in the silence would be lost.
  if (!options.endpoints.skip_silence || !endpoints.silence_goes_on() ||
      !search().BestIds().empty()) {
    return;
  }
  gate.Close();
  WatchForSpeech();
}

void Stream::State::EndUtterance(UtteranceEnd end) {
  search().Finish();
  const bool is_rescored = options.search.rescoring.enabled && !is_preview;
  std::vector<TokenSequence> nbest = BestSequences(
      is_rescored ? std::max(options.nbest, options.search.beam_size) : options.nbest);
  if (end == UtteranceEnd::kEndpoint && TextOf(nbest.front().tokens).empty()) return;
  // Frames after the last token of an utterance may be searched again.
  last_end_frame = std::max(last_end_frame, search().num_frames());
  ended.push_back({num_utterances, spoken_end_frame, last_end_frame, end, std::move(nbest)});
  ++num_utterances;
  if (is_rescored) AddToRescore();
}

void Stream::State::BeginUtterance(int64_t first_frame) {
  search().StartUtterance(first_frame);
  ForgetUtterance();
}

void Stream::State::ForgetUtterance() {
  endpoints.StartUtterance();
  cut_tokens.Clear();
  DropRows();
  stable_text.clear();
  stable_end = TextEnd();
  num_stable_ids = 0;
}

void Stream::State::BeginAfter(State* copy) {
  const size_t num_ended = copy->ended.size();
  const int64_t last_end = num_ended > 1 ? copy->ended[num_ended - 2].end_frame : last_end_frame;
  if (copy->endpoints.num_frames() > 0 && copy->search().num_frames() > last_end) {
    copy->ended.back().end = UtteranceEnd::kFinalize;
  } else {  // the last utterance has no new frame
    copy->ended.pop_back();
    --copy->num_utterances;
  }
  if (copy->num_utterances == num_utterances) return;
  CutTokens found_again = ContinueSearch(copy);
  for (auto utterance = copy->FirstEndedSince(*this); utterance != copy->ended.end(); ++utterance) {
    if (const std::optional<SpokenMs> speech = SpeechOf(*utterance)) {
      spoken_end_frame = std::max(spoken_end_frame, FirstFrameFrom(speech->end));
    }
  }
  ended = std::move(copy->ended);
  num_utterances = copy->num_utterances;
  last_end_frame = copy->last_end_frame;
  ForgetUtterance();
  cut_tokens = std::move(found_again);
  if (options.endpoints.reset_encoder) model->parts().encoder.ForgetContext(&encoder);
}

// The frames after the last token that was handed out are searched again, when the encoder has
// computed them with the audio that follows. In the copy they were the last ones: a token that
// needs this audio was not found.
CutTokens Stream::State::ContinueSearch(State* copy) {
  const int64_t begin = search().num_frames();
  std::vector<TokenSpan> known;  // that this search has found too
  std::vector<TokenSpan> found;
  bool rule_holds = false;
  for (auto utterance = copy->FirstEndedSince(*this); utterance != copy->ended.end(); ++utterance) {
    for (const TokenSpan& token : utterance->nbest.front().tokens) {
      (token.first_frame < begin ? known : found).push_back(token);
    }
    rule_holds = rule_holds || utterance->end == UtteranceEnd::kEndpoint;
  }
  if (ctc_search != nullptr || found.empty()) {
    if (found.empty() && rule_holds) {
      search().StartUtterance(begin);
    } else {
      search().ContinueAfter(known);
    }
    CutTokens tokens;
    if (known.empty()) tokens = cut_tokens;  // of a call before this one
    tokens.Add(found);
    return tokens;
  }
  // After a rule the copy's search has an utterance without tokens.
  const EndedUtterance& last = copy->ended.back();
  const bool is_after_rule = last.end == UtteranceEnd::kEndpoint;
  const int64_t text_begin = copy->text_begin();
  transducer_search = std::move(copy->transducer_search);
  transducer_search->ReturnTo(is_after_rule ? std::vector<TokenSpan>() : last.nbest.front().tokens,
                              text_begin);
  return {};
}

std::vector<EndedUtterance>::const_iterator Stream::State::FirstEndedSince(
    const State& original) const {
  return ended.end() - (num_utterances - original.num_utterances);
}

void Stream::State::PassCutTokens(const float* log_probs, int64_t num_rows) {
  const VocabularyConfig& vocabulary = model->parts().config.vocabulary;
  const int64_t begin = ctc_search->num_frames();
  const int64_t count = std::min(num_rows, cut_tokens.end_frame() - begin);
  const std::vector<int32_t> ids = MostProbableIds(log_probs, count, vocabulary.vocab_size, begin);
  const std::optional<CutTokens::Place> place =
      cut_tokens.Pass(ids, vocabulary.blank_id, {begin, ctc_search->TokenOfLastFrame()});
  if (place) ctc_search->StartUtteranceAfter(place->token_before, place->frame);
}

void Stream::State::UpdateResults() {
  if (IsFinal() && !is_over) {
    EndUtterance(UtteranceEnd::kFinish);
    is_over = true;
  }
  const std::vector<int32_t>& ids = search().BestIds();
  const size_t num_stable = is_over ? ids.size() : search().NumStableIds();
  for (; num_stable_ids < num_stable; ++num_stable_ids) {
    model->tokens().AppendText(ids[num_stable_ids], &stable_end, &stable_text);
  }
}

}  // namespace runnel
