// The Conformer encoder: an immutable model, streams as values, one ragged batch per step.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_ENCODER_H_
#define RUNNEL_ENCODER_ENCODER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/encoder_core.h"
#include "encoder/fast/fast_options.h"
#include "encoder/frame_buffer.h"
#include "encoder/normalization.h"
#include "encoder/subsampling_geometry.h"
#include "encoder/weights.h"

namespace runnel {

// Everything the encoder remembers of one stream. A plain value: a copy continues on its own. Made
// by Encoder::InitialState.
struct EncoderState {
  FrameBuffer
      features;  // the last feature frames, normalised, that later encoder frames still read
  FeatureStatistics statistics;  // where the normalisation follows the stream
  LayerStates layers;
  int64_t left_context = 0;  // M, encoder frames, -1: unlimited; may change between steps
  int64_t num_frames = 0;    // feature frames taken so far
  int64_t offset = 0;        // encoder frames computed so far: the first of the next chunk
  bool ended = false;        // the last chunk is computed

  // Bytes held by all buffers.
  int64_t num_bytes() const;

  // All but left_context, which the owner knows, for the snapshot of a stream
  // (runtime/state_fields.h). Read into an initial state; Encoder::Inconsistency must follow.
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    FrameBuffer::VisitState(self.features, fields);
    fields.Value(self.statistics.num_frames);
    fields.Values(self.statistics.mean);
    fields.Values(self.statistics.squares);
    std::visit(
        [&fields](auto& states) {
          using State = typename std::decay_t<decltype(states)>::value_type;
          for (auto& layer : states) State::VisitState(layer, fields);
        },
        self.layers);
    fields.Value(self.num_frames);
    fields.Value(self.offset);
    fields.Value(self.ended);
  }
};

// The new feature frames with which a stream's next chunk is complete.
struct EncoderChunk {
  int64_t num_frames;
  bool last;  // the stream ends with them: what is left becomes one chunk
};

// One stream's part of a step. `features` holds the chunk's new feature frames, row-major
// (chunk.num_frames, input_dim), which with those the state kept become one chunk, whatever its
// length.
struct EncoderSegment {
  EncoderState* state;
  const float* features;
  EncoderChunk chunk;
};

// The encoder frames of a step, stacked in the order of its segments.
struct EncoderOutput {
  at::Tensor rows;                // (total_rows, model_dim)
  std::vector<int64_t> num_rows;  // per segment; 0 where the frames gave no encoder frame yet
};

// How an encoder computes.
struct EncoderOptions {
  enum class Backend {
    kLibTorch,  // on LibTorch's operations, in the weights' type: the reference
    kFast       // on the kernels; weights of float32
  };
  Backend backend = Backend::kLibTorch;
  FastOptions fast;  // of kFast
};

// Const after construction: Step may run in several threads at once on different states.
class Encoder {
 public:
  // Takes every tensor whose name starts with "encoder."; throws std::runtime_error as Weights
  // does, and for kFast where this build has no kernels.
  Encoder(const EncoderConfig& config, Weights* weights, const EncoderOptions& options = {});

  // A stream that has heard nothing. left_context: M in encoder frames, -1: unlimited. Throws
  // std::invalid_argument below -1.
  EncoderState InitialState(int64_t left_context) const;

  // What is wrong with a restored state, or null. A state that passes can be used like any other.
  // must_be_finite: whether keys, values, gated and feature frames have to be.
  const char* Inconsistency(const EncoderState& state, bool must_be_finite) const;

  // The next chunk of a stream of which `num_available` more feature frames are there; nothing when
  // it is not complete yet or nothing is left. `ended`: no frames follow those. chunk_size: encoder
  // frames, -1: the whole utterance. The last chunk is as long as what is left, by the count of
  // frames that the whole utterance gives: no frame is lost, none is invented.
  std::optional<EncoderChunk> NextChunk(const EncoderState& state, int64_t chunk_size,
                                        int64_t num_available, bool ended) const;

  // New feature frames that complete a chunk of `chunk_size` encoder frames (at least 1).
  int64_t FramesForChunk(const EncoderState& state, int64_t chunk_size) const;

  // Computes one chunk of each segment's stream and advances its state. A row of the result does
  // not depend on the other segments: with kFast to the bit, otherwise but for the rounding of a
  // product with more rows. Throws
  // std::invalid_argument when two segments share a state, when a stream goes on after its last
  // chunk, or when the model needs the whole utterance and a segment is not one.
  EncoderOutput Step(const std::vector<EncoderSegment>& segments,
                     const LayerObserver& observer = nullptr) const;

  // The whole utterance in one pass under the chunk mask: what chunk-by-chunk must equal. features:
  // (T, input_dim); chunk_size -1: the whole utterance; left_context -1: unlimited. Returns
  // (T', model_dim). Throws std::invalid_argument when chunk_size is 0, either is below -1, or the
  // model needs the whole utterance in one chunk.
  at::Tensor ForwardUnderMask(const at::Tensor& features, int64_t chunk_size, int64_t left_context,
                              const LayerObserver& observer = nullptr) const;

  // Feature frames (T, input_dim) as chunks of `chunk_size` see them, in dtype(): normalised.
  at::Tensor Normalize(const at::Tensor& features, int64_t chunk_size) const;

  const EncoderConfig& config() const { return config_; }
  at::ScalarType dtype() const { return c10::typeMetaToScalarType(options_.dtype()); }
  // Rate, overlap and right context in feature frames; encoder frames of a recording.
  const SubsamplingGeometry& subsampling() const { return geometry_; }

 private:
  void CheckSegments(const std::vector<EncoderSegment>& segments) const;

  // The first feature frame that later encoder frames read.
  int64_t NextRead(const EncoderState& state) const;
  // The end of the encoder frames that the state's feature frames complete.
  int64_t CompleteFrames(const EncoderState& state) const;

  // Adds a segment's frames to its state: the encoder frames that they complete, if any.
  std::optional<CoreSegment> Prepare(const EncoderSegment& segment) const;

  // A state that was given all these frames, in chunks of `chunk_size`, and computed nothing.
  EncoderState StateAfter(const at::Tensor& features, int64_t chunk_size) const;

  // Normalises new frames and adds them to the state's.
  void AddFrames(EncoderState* state, const float* features, int64_t num_frames) const;
  // Drops the frames of a state that no later encoder frame reads.
  void DropFrames(EncoderState* state) const;

  EncoderConfig config_;
  at::TensorOptions options_;  // type and device of all rows
  FeatureNormalizer normalizer_;
  SubsamplingGeometry geometry_;
  std::unique_ptr<const EncoderCore> core_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ENCODER_H_
