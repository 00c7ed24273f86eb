#include "tools/benchmark/steady_streams.h"

#include <algorithm>
#include <utility>

#include "encoder/ctc_head.h"
#include "runtime/model/model_parts.h"

namespace runnel {
namespace {

constexpr int64_t kFramesBetweenStreams = 97;  // streams use different parts of the pool

}  // namespace

int64_t FramesOfFirstChunk(const Encoder& encoder, int64_t chunk_size) {
  return encoder.FramesForChunk(encoder.InitialState(), chunk_size);
}

SteadyStreams::SteadyStreams(std::shared_ptr<const Model> model, const FeaturePool* pool,
                             const StreamingSetting& setting, int64_t num_streams,
                             int64_t batch_size, int64_t first_stream)
    : model_(std::move(model)), pool_(pool), setting_(setting) {
  for (int64_t i = 0; i < num_streams; ++i) {
    states_.push_back(model_->parts().encoder.InitialState());
    positions_.push_back((first_stream + i) * kFramesBetweenStreams);
  }
  segments_.resize(static_cast<size_t>(batch_size));
}

void SteadyStreams::FillCaches() {
  const int64_t num_chunks = 2 * (setting_.left_context / setting_.chunk_size) + 4;
  const int64_t num_streams = static_cast<int64_t>(states_.size());
  for (int64_t i = 0; i < num_chunks * num_streams; i += batch_size()) Step();
}

void SteadyStreams::Step() {
  for (EncoderSegment& segment : segments_) {
    EncoderState& state = states_[next_];
    const int64_t num_frames = model_->parts().encoder.FramesForChunk(state, setting_.chunk_size);
    segment = {&state,
               pool_->Frames(positions_[next_], num_frames),
               {num_frames, false},
               setting_.left_context};
    positions_[next_] += num_frames;
    next_ = (next_ + 1) % states_.size();
  }
  const EncoderOutput output = model_->parts().encoder.Step(segments_);
  model_->parts().RequireCtcHead().LogProbs(output.rows.rows());
}

int64_t SteadyStreams::bytes_per_stream() const {
  int64_t bytes = 0;
  for (const EncoderState& state : states_) bytes = std::max(bytes, state.num_bytes());
  return bytes;
}

}  // namespace runnel
