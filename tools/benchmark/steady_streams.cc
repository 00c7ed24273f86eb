#include "tools/benchmark/steady_streams.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "encoder/ctc_head.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream/transducer_decoding.h"
#include "tools/benchmark/durations.h"
#include "tools/benchmark/random/token_search.h"

namespace runnel {
namespace {

constexpr int64_t kSearchedFrames = 2000;
constexpr int64_t kFramesBetweenStreams = 97;  // streams use different parts of the pool

}  // namespace

int64_t FramesOfFirstChunk(const Encoder& encoder, const StreamingSetting& setting) {
  const int64_t right_context = std::max<int64_t>(0, setting.right_context);
  return encoder.FramesForChunk(encoder.InitialState(), setting.chunk_size + right_context);
}

SteadyStreams::SteadyStreams(std::shared_ptr<const Model> model, const FeaturePool* pool,
                             const StreamingSetting& setting, MeasuredHead head,
                             int64_t num_streams, int64_t batch_size, int64_t first_stream)
    : model_(std::move(model)), pool_(pool), setting_(setting), head_(head) {
  for (int64_t i = 0; i < num_streams; ++i) {
    states_.push_back(model_->parts().encoder.InitialState());
    positions_.push_back((first_stream + i) * kFramesBetweenStreams);
    if (head == MeasuredHead::kTransducer) {
      searches_.push_back(std::make_unique<RandomTokenSearch>(
          *model_->parts().transducer, static_cast<uint32_t>(first_stream + i)));
    }
  }
  segments_.resize(static_cast<size_t>(batch_size));
}

void SteadyStreams::FillCaches() {
  const int64_t num_chunks = 2 * (setting_.left_context / setting_.chunk_size) + 4;
  const int64_t num_streams = static_cast<int64_t>(states_.size());
  for (int64_t i = 0; i < num_chunks * num_streams; i += batch_size()) Step();
}

void SteadyStreams::Step() {
  const size_t first_stream = next_;
  for (EncoderSegment& segment : segments_) {
    EncoderState& state = states_[next_];
    const Encoder& encoder = model_->parts().encoder;
    const int64_t num_frames = encoder.FramesForChunk(state, setting_.chunk_size);
    EncoderChunk chunk{num_frames, false};
    if (setting_.right_context != kNoRightContext) {
      chunk.num_ahead = setting_.right_context * encoder.subsampling().rate();
    }
    const int64_t num_read = num_frames + chunk.num_ahead.value_or(0);
    segment = {&state, pool_->Frames(positions_[next_], num_read), chunk, setting_.left_context,
               setting_.cached_windows};
    positions_[next_] += num_frames;
    next_ = (next_ + 1) % states_.size();
  }
  const EncoderOutput output = model_->parts().encoder.Step(segments_);
  head_ms_ = MillisecondsOf([&] { ComputeHead(output, first_stream); });
}

void SteadyStreams::ComputeHead(const EncoderOutput& output, size_t first_stream) {
  if (head_ == MeasuredHead::kCtc) model_->parts().RequireCtcHead().LogProbs(output.rows.rows());
  if (head_ == MeasuredHead::kTransducer) SearchTransducer(output, first_stream);
}

void SteadyStreams::SearchTransducer(const EncoderOutput& output, size_t first_stream) {
  const Transducer& transducer = *model_->parts().transducer;
  const Matrix projected = transducer.ProjectEncoder(output.rows.rows());
  std::vector<TransducerSegment> segments;
  int64_t row = 0;
  for (size_t i = 0; i < output.num_rows.size(); ++i) {
    TransducerSearch& search = *searches_[(first_stream + i) % searches_.size()];
    // Text that grows for the whole measurement is no steady state.
    if (search.num_frames() >= kSearchedFrames) search.Reset();
    segments.push_back(
        {&search, projected.rows().Part(row, output.num_rows[i]), nullptr, [] {}, ""});
    row += output.num_rows[i];
  }
  runnel::SearchTransducer(transducer, &segments);
  for (const TransducerSegment& segment : segments) {
    if (!segment.error.empty()) throw std::runtime_error(segment.error);
  }
}

double SteadyStreams::tokens_per_frame() const {
  size_t num_tokens = 0;
  int64_t num_frames = 0;
  for (const auto& search : searches_) {
    num_tokens += search->BestIds().size();
    num_frames += search->num_frames();
  }
  return num_frames == 0 ? 0.0 : static_cast<double>(num_tokens) / static_cast<double>(num_frames);
}

int64_t SteadyStreams::bytes_per_stream() const {
  int64_t bytes = 0;
  for (const EncoderState& state : states_) bytes = std::max(bytes, state.num_bytes());
  return bytes;
}

}  // namespace runnel
