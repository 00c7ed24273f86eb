#include "runtime/model/encode_chunks.h"

#include <limits>
#include <utility>

#include "runtime/stream.h"

namespace runnel {

EncoderState EncodeChunks(const ModelParts& model, int64_t chunk_size, int64_t left_context,
                          const ReadFrames& read_frames, const OnEncoderFrames& on_encoder_frames) {
  const Encoder& encoder = model.encoder;
  EncoderState state = encoder.InitialState();
  for (bool ended = false;;) {
    const int64_t wanted = chunk_size == StreamOptions::kWholeUtterance
                               ? std::numeric_limits<int64_t>::max()
                               : encoder.FramesForChunk(state, chunk_size);
    const std::vector<float> frames = ended ? std::vector<float>() : read_frames(wanted);
    const int64_t num_frames =
        static_cast<int64_t>(frames.size()) / static_cast<int64_t>(model.frame_extractor->dim());
    ended = num_frames < wanted;
    const auto chunk = encoder.NextChunk(state, chunk_size, num_frames, ended);
    if (!chunk) return state;
    on_encoder_frames(
        std::move(encoder.Step({{&state, frames.data(), *chunk, left_context}}).rows));
  }
}

}  // namespace runnel
