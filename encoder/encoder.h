// The streaming encoder: feature frames to encoder frames, chunk by chunk, for many streams at a
// time. This folder holds what all backends share: configuration, weights, state and schedule.
// encoder/cpu and encoder/libtorch compute (encoder/backend.h), encoder/position scores positions,
// and encoder/model_file reads the file.
#ifndef RUNNEL_ENCODER_ENCODER_H_
#define RUNNEL_ENCODER_ENCODER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encoder/backend.h"
#include "encoder/conformer.h"
#include "encoder/encoder_config.h"
#include "encoder/layer_state.h"
#include "encoder/normalization.h"
#include "encoder/rows.h"
#include "encoder/subsampling_geometry.h"

namespace runnel {

class Weights;

// The encoder's state of one stream. A value: a copy continues on its own. Made by
// Encoder::InitialState.
struct EncoderState {
  Matrix features;                 // the last normalised frames that later encoder frames read
  std::vector<float> window;       // of windows, instead: the frames that later ones read, as given
  FeatureStatistics statistics;    // of kRunning and kUtterance normalisation
  std::vector<LayerState> layers;  // layer 0 first
  int64_t num_frames = 0;          // feature frames received or skipped
  int64_t num_skipped = 0;         // feature frames skipped
  int64_t offset = 0;              // encoder frames computed: the first one of the next chunk
  int64_t context_begin = 0;       // encoder frames before it are forgotten: in no cache of a layer
  bool ended = false;              // the last chunk is computed

  // Bytes allocated by all buffers.
  int64_t num_bytes() const;

  // For the snapshot of a stream (runtime/snapshot/state_fields.h). Reading starts from an initial
  // state; the caller then checks Encoder::Inconsistency.
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    Matrix::VisitState(self.features, fields);
    fields.Values(self.window);
    fields.Counter(self.statistics.num_frames);
    fields.Values(self.statistics.mean);
    fields.Values(self.statistics.squares);
    for (auto& layer : self.layers) LayerState::VisitState(layer, fields);
    fields.Counter(self.num_frames);
    fields.Counter(self.num_skipped);
    fields.Counter(self.offset);
    fields.Counter(self.context_begin);
    fields.Value(self.ended);
  }
};

// The right context of a chunk that is no window.
constexpr int64_t kNoRightContext = -1;

// The new feature frames that complete a stream's next chunk.
//
// A chunk continues from the caches of the layers, or it is computed as a window: the encoder
// frames of the left context, the chunk and the right context, as an utterance of their own. In a
// cached window only the chunk and the right context are computed. The left context is what the
// layers cached of it in the windows in which it was the chunk. A stream has chunks of one kind.
struct EncoderChunk {
  int64_t num_frames;
  bool last;  // the stream ends with these frames
  // Of a window: the feature frames after these that complete its right context. They are read
  // here, and are new frames of a later chunk.
  std::optional<int64_t> num_ahead = std::nullopt;
};

// One stream's part of Encoder::Step.
struct EncoderSegment {
  EncoderState* state;
  const float* features;  // (chunk.num_frames + chunk.num_ahead, input_dim), row-major
  EncoderChunk chunk;
  int64_t left_context;  // M, encoder frames before the chunk that it attends to; -1: all
  bool cached_window = false;
};

// The encoder frames of a step, in the order of its segments.
struct EncoderOutput {
  Matrix rows;                    // (total_rows, model_dim)
  std::vector<int64_t> num_rows;  // per segment; 0 where the frames complete no encoder frame
};

// Const after construction: Step may run in several threads at once, on different streams.
class Encoder {
 public:
  // Takes every tensor whose name starts with "encoder.", but for those of the position scheme,
  // which `backend` has taken. Does not keep `backend`. Throws std::runtime_error as Weights does.
  Encoder(const EncoderConfig& config, Weights* weights, const EncoderBackend& backend);

  // The state of a stream that has no frame yet.
  EncoderState InitialState() const;

  // A feature frame that a stream's normalisation maps to zeros.
  std::vector<float> MeanFrame(const EncoderState& state) const;

  // Empties the caches of all layers: the next chunk has no left context, as at the start of a
  // stream. Frame numbers go on. The features kept for the subsampling and their statistics stay.
  void ForgetContext(EncoderState* state) const;

  // The first feature frame that encoder frame `offset` and later ones read.
  int64_t FirstRead(int64_t offset) const;
  // Continues with encoder frame `offset`, which is after those computed, without left context. The
  // next feature frame is FirstRead(offset), which is after those received.
  void SkipTo(int64_t offset, EncoderState* state) const;

  // Describes why a restored state is invalid; "" for a state that can be used like any other.
  // left_context, right_context, cached_windows: of the stream. must_be_finite: whether all rows
  // have to be finite.
  std::string Inconsistency(const EncoderState& state, int64_t left_context, int64_t right_context,
                            bool cached_windows, bool must_be_finite) const;

  // The next chunk of a stream that has `num_available` more feature frames; none while it is
  // incomplete, and none when no encoder frame is left. `ended`: no frames follow. chunk_size:
  // encoder frames, -1: the whole utterance. The last chunk holds the remaining encoder frames, so
  // that a stream gives as many of them as its utterance computed at once. right_context: of
  // windows, the encoder frames after the chunk that have to be there too, unless no frames follow.
  std::optional<EncoderChunk> NextChunk(const EncoderState& state, int64_t chunk_size,
                                        int64_t num_available, bool ended,
                                        int64_t right_context = kNoRightContext) const;

  // New feature frames that complete a chunk of `chunk_size` encoder frames (at least 1).
  int64_t FramesForChunk(const EncoderState& state, int64_t chunk_size) const;

  // Encoder frames that `num_available` more feature frames complete, at least 0.
  int64_t NumComplete(const EncoderState& state, int64_t num_available) const;

  // Computes one chunk of each segment's stream and advances its state. A row does not depend on
  // the other segments: with the CPU backend to the bit, with LibTorch but for the rounding of a
  // matmul with more rows. Throws std::invalid_argument when two segments share a state, when a
  // stream continues after its last chunk, when a left context is below -1 or that of a window
  // below 0, when a cached window is no window, when a chunk or its left context cuts a group of
  // frames (EncoderConfig::ChunkMultiple), or when the model needs the whole utterance and a
  // segment is less and no window.
  EncoderOutput Step(const std::vector<EncoderSegment>& segments,
                     const LayerObserver& observer = nullptr) const;

  // The whole utterance in one pass under the chunk mask, which chunk by chunk must equal.
  // features: (num_frames, input_dim); chunk_size -1: the whole utterance; left_context -1:
  // unlimited. Returns (encoder frames, model_dim). Throws std::invalid_argument when chunk_size is
  // 0, either is below -1 or cuts a group of frames, or the model needs the whole utterance in one
  // chunk.
  Matrix ForwardUnderMask(const float* features, int64_t num_frames, int64_t chunk_size,
                          int64_t left_context, const LayerObserver& observer = nullptr) const;

  // Feature frames (num_frames, input_dim), normalised as in chunks of `chunk_size`.
  Matrix Normalize(const float* features, int64_t num_frames, int64_t chunk_size) const;

  const EncoderConfig& config() const { return config_; }
  // Of all rows: kFloat32 or kFloat64.
  DataType data_type() const { return conformer_.data_type(); }
  // Rate, overlap and right context in feature frames; encoder frames of a recording. With the
  // strides of the layers.
  const SubsamplingGeometry& subsampling() const { return geometry_; }

 private:
  void CheckSegments(const std::vector<EncoderSegment>& segments) const;
  // Throws std::invalid_argument unless the groups of the layers' attention divide the value.
  void CheckMultiple(const char* name, int64_t value) const;

  // The end of the encoder frames that the state's feature frames complete.
  int64_t CompleteFrames(const EncoderState& state) const;
  int64_t CompleteFrames(int64_t num_frames) const;

  // Normalises new frames and adds them to the state.
  void AddFrames(EncoderState* state, const float* features, int64_t num_frames) const;
  // Drops the frames of a state that no later encoder frame reads.
  void DropFrames(EncoderState* state) const;

  // Adds a chunk's frames to the state; returns the encoder frames that they complete, if any.
  std::optional<Segment> Prepare(const EncoderSegment& segment) const;

  // A segment of a step, and the part of its encoder frames that the step hands out.
  struct Prepared {
    Segment segment;
    std::vector<LayerState>* layers;
    FrameRange given;  // counted from the segment's first one
  };
  std::optional<Prepared> PrepareChunk(const EncoderSegment& segment) const;
  // Of windows (encoder_windows.cc). The first feature frame of the window of the next chunk, with
  // so many encoder frames before it.
  int64_t WindowBegin(const EncoderState& state, int64_t num_before) const;
  // Encoder frames before the chunk whose feature frames the state keeps for a window. A cached one
  // needs the left context for its statistics only, and what the subsampling reads again.
  int64_t WindowContext(int64_t left_context, bool cached) const;
  // Adds a chunk's frames to the state. Returns the feature frames of its window; none when they
  // complete no encoder frame.
  std::vector<float> TakeWindow(const EncoderSegment& segment) const;
  // As Prepare. The state of the window as an utterance of its own is added to `utterances`.
  std::optional<Prepared> PrepareWindow(const EncoderSegment& segment,
                                        std::deque<EncoderState>* utterances) const;
  std::optional<Prepared> PrepareCachedWindow(const EncoderSegment& segment) const;
  // Drops the frames before the window of the next chunk.
  void DropWindowFrames(int64_t num_before, EncoderState* state) const;
  std::string WindowInconsistency(const EncoderState& state, int64_t num_before,
                                  bool must_be_finite) const;
  // Of the caches of a stream of windows that are not cached.
  std::string NoCachesInconsistency(const EncoderState& state) const;
  // Of the caches of a stream that has them.
  std::string LayersInconsistency(const EncoderState& state, int64_t left_context,
                                  bool must_be_finite) const;

  // A state that has received all these frames, in chunks of `chunk_size`, and computed nothing.
  EncoderState StateAfter(const float* features, int64_t num_frames, int64_t chunk_size) const;

  EncoderConfig config_;
  FeatureNormalizer normalizer_;
  SubsamplingGeometry geometry_;
  int64_t chunk_multiple_;
  Conformer conformer_;
  std::unique_ptr<const StepRunner> runner_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ENCODER_H_
