// DecodeChunks: one chunk of many streams, in one batch.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "encoder/ctc_head.h"
#include "encoder/encoder.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream.h"
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

}  // namespace

void Stream::State::SearchCtc(const std::vector<Computed>& streams) {
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
      streams[first].state->SearchCtc(next, streams[first].rows.count);
      next += streams[first].rows.count * log_probs.dim();
    }
  }
}

void Stream::State::SearchTransducer(const std::vector<Computed>& streams) {
  const ModelParts& parts = streams.front().state->model->parts();
  Matrix rows(streams.front().rows.type, streams.front().rows.dim);
  bool needs_ctc = false;
  for (const Computed& stream : streams) {
    Append(stream.rows, &rows);
    needs_ctc = needs_ctc || stream.state->options.search.ctc_weight > 0;
  }
  const Matrix projected = parts.transducer->ProjectEncoder(rows.rows());
  std::optional<Matrix> ctc_log_probs;
  if (needs_ctc) ctc_log_probs = ToFloat32(parts.RequireCtcHead().LogProbs(rows.rows()));
  std::vector<TransducerSegment> segments;
  int64_t row = 0;
  for (const Computed& stream : streams) {
    const float* ctc = needs_ctc ? ctc_log_probs->rows().float32(row) : nullptr;
    segments.push_back(
        stream.state->BeginSearch(projected.rows().Part(row, stream.rows.count), ctc));
    row += stream.rows.count;
  }
  runnel::SearchTransducer(*parts.transducer, &segments);
  for (size_t i = 0; i < streams.size(); ++i) streams[i].state->EndSearch(segments[i]);
}

void Stream::State::ApplyPrompt(const std::vector<State*>& streams, EncoderOutput* output) {
  const ModelParts& parts = streams.front()->model->parts();
  if (parts.prompt == nullptr || output->rows.count() == 0) return;
  std::vector<int64_t> languages;
  for (size_t i = 0; i < streams.size(); ++i) {
    languages.insert(languages.end(), static_cast<size_t>(output->num_rows[i]),
                     parts.config.prompt->IndexOf(streams[i]->options.language));
  }
  output->rows = parts.prompt->Apply(std::as_const(output->rows).rows(), languages);
}

size_t DecodeChunks(const std::vector<Stream*>& streams) {
  std::vector<Stream::State*> ready;
  std::set<const Stream*> distinct;
  for (Stream* stream : streams) {
    if (!distinct.insert(stream).second) {
      throw std::invalid_argument("a stream is twice in one batch, expected each once");
    }
    if (stream->state_->model != streams.front()->state_->model) {
      throw std::invalid_argument("streams of different models in one batch, expected one model");
    }
    if (stream->ChunkReady()) ready.push_back(stream->state_.get());
  }
  if (ready.empty()) return 0;

  std::vector<std::vector<float>> features(ready.size());
  std::vector<EncoderSegment> segments;
  for (size_t i = 0; i < ready.size(); ++i) {
    const EncoderChunk chunk = *ready[i]->NextChunk();
    features[i] = ready[i]->TakeFrames(chunk.num_frames);
    segments.push_back(
        {&ready[i]->encoder, features[i].data(), chunk, ready[i]->options.left_context});
  }

  EncoderOutput output = ready.front()->model->parts().encoder.Step(segments);
  Stream::State::ApplyPrompt(ready, &output);
  std::vector<Stream::State::Computed> of_ctc;
  std::vector<Stream::State::Computed> of_transducer;
  int64_t row = 0;
  for (size_t i = 0; i < ready.size(); ++i) {
    const int64_t num_rows = output.num_rows[i];
    (ready[i]->ctc_search ? of_ctc : of_transducer)
        .push_back({ready[i], std::as_const(output.rows).rows().Part(row, num_rows)});
    row += num_rows;
  }
  for (const auto* computed : {&of_ctc, &of_transducer}) {
    for (const Stream::State::Computed& stream : *computed) stream.state->KeepRows(stream.rows);
  }
  if (!of_ctc.empty()) Stream::State::SearchCtc(of_ctc);
  if (!of_transducer.empty()) Stream::State::SearchTransducer(of_transducer);
  Stream::State::Rescore(ready);
  return ready.size();
}

}  // namespace runnel
