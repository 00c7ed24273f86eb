// Runs the encoder of a model over one sequence of feature frames, chunk by chunk, for programs
// that read encoder frames or log probabilities (tools/dump_encoder.cc, runtime/python).
#ifndef RUNNEL_RUNTIME_MODEL_ENCODE_CHUNKS_H_
#define RUNNEL_RUNTIME_MODEL_ENCODE_CHUNKS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/rows.h"
#include "runtime/model/model_parts.h"
#include "runtime/streaming_config.h"

namespace runnel {

// Returns the next feature frames, (n, feature_dim) row-major: `max_frames`, fewer only at the end,
// none afterwards.
using ReadFrames = std::function<std::vector<float>(int64_t max_frames)>;

// Receives the encoder frames of a chunk, (n, model_dim).
using OnEncoderFrames = std::function<void(Matrix rows)>;

// The sizes of `setting` are in encoder frames, as in StreamOptions; kModelDefault is not allowed.
// Returns the state after the last chunk. Throws what the functions throw.
EncoderState EncodeChunks(const ModelParts& model, const StreamingSetting& setting,
                          const ReadFrames& read_frames, const OnEncoderFrames& on_encoder_frames);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_MODEL_ENCODE_CHUNKS_H_
