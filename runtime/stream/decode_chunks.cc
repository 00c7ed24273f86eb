// DecodeChunks: one chunk of many streams, in one batch.
#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "encoder/encoder.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream.h"
#include "runtime/stream/stream_state.h"

namespace runnel {
namespace {

using States = std::vector<Stream::State*>;

// The feature frames of the next chunk of every stream, through the encoder.
EncoderOutput EncodeNextChunks(const States& streams) {
  std::vector<std::vector<float>> features(streams.size());
  std::vector<EncoderSegment> segments;
  for (size_t i = 0; i < streams.size(); ++i) {
    const EncoderChunk chunk = *streams[i]->NextChunk();
    features[i] = streams[i]->input.Take(chunk.num_frames);
    if (chunk.num_ahead) streams[i]->input.Peek(*chunk.num_ahead, &features[i]);
    const StreamOptions& options = streams[i]->options;
    segments.push_back({&streams[i]->encoder, features[i].data(), chunk, options.left_context,
                        options.cached_windows});
  }
  return streams.front()->model->parts().encoder.Step(segments);
}

// Tells the rows of a step their streams' languages.
void ApplyPrompt(const States& streams, EncoderOutput* output) {
  const ModelParts& parts = streams.front()->model->parts();
  if (parts.prompt == nullptr || output->rows.count() == 0) return;
  std::vector<int64_t> languages;
  for (size_t i = 0; i < streams.size(); ++i) {
    languages.insert(languages.end(), static_cast<size_t>(output->num_rows[i]),
                     parts.config.prompt->IndexOf(streams[i]->options.language));
  }
  output->rows = parts.prompt->Apply(std::as_const(output->rows).rows(), languages);
}

// The streams search the rows of a step.
void Advance(const States& streams, const EncoderOutput& output) {
  std::vector<ComputedFrames> computed;
  int64_t row = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    Stream::State& state = *streams[i];
    const ConstRows rows = output.rows.rows().Part(row, output.num_rows[i]);
    state.head.KeepRows(rows, state.encoder.offset - rows.count);
    state.head.DropRowsBefore(state.utterances.text_begin(state.head.search()));
    computed.push_back({&state, rows});
    row += rows.count;
  }
  SearchFrames(computed);
  Rescore(streams);
}

}  // namespace

size_t DecodeChunks(const std::vector<Stream*>& streams) {
  States ready;
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
  EncoderOutput output = EncodeNextChunks(ready);
  ApplyPrompt(ready, &output);
  Advance(ready, output);
  return ready.size();
}

}  // namespace runnel
