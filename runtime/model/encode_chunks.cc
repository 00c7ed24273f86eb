#include "runtime/model/encode_chunks.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "runtime/stream.h"

namespace runnel {

EncoderState EncodeChunks(const ModelParts& model, const StreamingSetting& setting,
                          const ReadFrames& read_frames, const OnEncoderFrames& on_encoder_frames) {
  const Encoder& encoder = model.encoder;
  const auto dim = static_cast<int64_t>(model.frame_extractor->dim());
  const int64_t lookahead = std::max<int64_t>(0, setting.right_context);
  EncoderState state = encoder.InitialState();
  std::vector<float> frames;  // that are read and not yet taken
  for (bool ended = false;;) {
    const int64_t num_read = static_cast<int64_t>(frames.size()) / dim;
    const int64_t wanted =
        setting.chunk_size == StreamOptions::kWholeUtterance
            ? std::numeric_limits<int64_t>::max()
            : encoder.FramesForChunk(state, setting.chunk_size + lookahead) - num_read;
    if (!ended && wanted > 0) {
      const std::vector<float> more = read_frames(wanted);
      frames.insert(frames.end(), more.begin(), more.end());
      ended = static_cast<int64_t>(more.size()) / dim < wanted;
    }
    const auto chunk =
        encoder.NextChunk(state, setting.chunk_size, static_cast<int64_t>(frames.size()) / dim,
                          ended, setting.right_context);
    if (!chunk) return state;
    on_encoder_frames(std::move(
        encoder
            .Step({{&state, frames.data(), *chunk, setting.left_context, setting.cached_windows}})
            .rows));
    frames.erase(frames.begin(),
                 frames.begin() + static_cast<std::ptrdiff_t>(chunk->num_frames * dim));
  }
}

}  // namespace runnel
