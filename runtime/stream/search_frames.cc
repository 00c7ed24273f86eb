// SearchFrames: the encoder frames of a step, searched in one batch for each head.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "encoder/ctc_head.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream/stream_state.h"
#include "runtime/stream/transducer_decoding.h"

namespace runnel {
namespace {

// Rows whose log probabilities are computed at a time, for one or several streams. With thousands
// of tokens they are still in the second-level cache when the search reads them.
constexpr int64_t kSearchRows = 32;

void Append(ConstRows rows, Matrix* to) {
  const Rows added = to->AddRows(rows.count);
  std::memcpy(added.data, rows.data,
              static_cast<size_t>(rows.count * rows.dim * BytesOf(rows.type)));
}

// New rows to be searched. An utterance that FinalizeUtterance ended may have the first ones
// already.
int64_t NumUnsearched(const Stream::State& state, int64_t num_rows) {
  return std::clamp<int64_t>(state.encoder.offset - state.head.search().num_frames(), 0, num_rows);
}

void Fail(const std::string& reason, Stream::State* state) {
  state->failure =
      "model " + state->model->name() + " gives no probabilities for this audio: " + reason;
}

void OnEndpoint(Stream::State* state) {
  const EndpointOptions& options = state->options.endpoints;
  if (options.reset_encoder) state->model->parts().encoder.ForgetContext(&state->encoder);
  // Tokens that the search has found in the silence would be lost.
  if (!options.skip_silence || !state->utterances.silence_goes_on() ||
      !state->head.search().BestIds().empty()) {
    return;
  }
  state->input.SkipSilence();
  state->PassSilence();
}

// All frames of a step are searched. has_endpoint: a rule holds after one of them.
void EndStep(bool has_endpoint, Stream::State* state) {
  if (has_endpoint) OnEndpoint(state);
  state->UpdateResults();
}

// log_probs: (num_rows, vocab_size).
void SearchCtc(const float* log_probs, int64_t num_rows, Stream::State* state) {
  const VocabularyConfig& vocabulary = state->model->parts().config.vocabulary;
  const auto unsearched = [&] {
    return log_probs + (num_rows - NumUnsearched(*state, num_rows)) * vocabulary.vocab_size;
  };
  CtcSearch& search = state->head.ctc();
  try {
    state->utterances.PassCutTokens(unsearched(), NumUnsearched(*state, num_rows), &search);
    const float* frames = unsearched();
    const int64_t num_frames = NumUnsearched(*state, num_rows);
    bool has_endpoint = false;
    if (state->utterances.has_rules()) {
      for (int64_t t = 0; t < num_frames; ++t, frames += vocabulary.vocab_size) {
        search.Advance(frames, 1);
        const float blank = frames[vocabulary.blank_id];
        has_endpoint = state->utterances.AfterFrame(blank, &state->head) || has_endpoint;
      }
    } else {
      search.Advance(frames, num_frames);
      state->utterances.AfterFrames(num_frames);
    }
    EndStep(has_endpoint, state);
  } catch (const std::invalid_argument& error) {  // not the caller's fault
    Fail("CTC head, " + std::string(error.what()), state);
  }
}

void SearchCtc(const std::vector<ComputedFrames>& streams) {
  if (streams.empty()) return;
  const CtcHead& head = streams.front().state->model->parts().RequireCtcHead();
  for (size_t first = 0; first < streams.size();) {
    Matrix rows(streams[first].rows.type, streams[first].rows.dim);
    size_t end = first;
    do {
      Append(streams[end++].rows, &rows);
    } while (end < streams.size() && rows.count() + streams[end].rows.count <= kSearchRows);
    const Matrix log_probs = ToFloat32(head.LogProbs(rows.rows()));
    const float* next = log_probs.rows().float32();
    for (; first < end; ++first) {
      SearchCtc(next, streams[first].rows.count, streams[first].state);
      next += streams[first].rows.count * log_probs.dim();
    }
  }
}

void SearchTransducer(const std::vector<ComputedFrames>& streams) {
  if (streams.empty()) return;
  const ModelParts& parts = streams.front().state->model->parts();
  Matrix rows(streams.front().rows.type, streams.front().rows.dim);
  bool needs_ctc = false;
  for (const ComputedFrames& stream : streams) {
    Append(stream.rows, &rows);
    needs_ctc = needs_ctc || stream.state->options.search.ctc_weight > 0;
  }
  const Matrix projected = parts.transducer->ProjectEncoder(rows.rows());
  std::optional<Matrix> ctc_log_probs;
  if (needs_ctc) ctc_log_probs = ToFloat32(parts.RequireCtcHead().LogProbs(rows.rows()));
  std::vector<TransducerSegment> segments(streams.size());
  std::vector<char> has_endpoint(streams.size(), 0);
  int64_t row = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    Stream::State* state = streams[i].state;
    const int64_t count = NumUnsearched(*state, streams[i].rows.count);
    const int64_t first = row + streams[i].rows.count - count;
    segments[i].search = &state->head.transducer();
    segments[i].encoder = projected.rows().Part(first, count);
    if (needs_ctc) segments[i].ctc_log_probs = ctc_log_probs->rows().float32(first);
    segments[i].after_frame = [state, ends = &has_endpoint[i]] {
      const float blank = state->head.transducer().blank_log_prob();
      if (state->utterances.AfterFrame(blank, &state->head)) *ends = 1;
    };
    row += streams[i].rows.count;
  }
  runnel::SearchTransducer(*parts.transducer, &segments);
  for (size_t i = 0; i < streams.size(); ++i) {
    if (segments[i].error.empty()) {
      EndStep(has_endpoint[i] != 0, streams[i].state);
    } else {
      Fail("transducer, " + segments[i].error, streams[i].state);
    }
  }
}

}  // namespace

void SearchFrames(const std::vector<ComputedFrames>& streams) {
  std::vector<ComputedFrames> of_ctc;
  std::vector<ComputedFrames> of_transducer;
  for (const ComputedFrames& stream : streams) {
    (stream.state->head.is_ctc() ? of_ctc : of_transducer).push_back(stream);
  }
  SearchCtc(of_ctc);
  SearchTransducer(of_transducer);
}

}  // namespace runnel
